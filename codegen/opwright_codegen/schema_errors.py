from opwright_codegen.errors import SchemaError
def explain(text, span, error): return SchemaError("syntax", repr(error)+repr(error.__cause__))
