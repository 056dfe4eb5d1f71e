"""`infer_schema`: the schema that a function's annotations say."""

from opwright.library.schema_inference.inference import InferredSchema, annotated_arrays, infer, infer_schema

__all__ = ["InferredSchema", "annotated_arrays", "infer", "infer_schema"]
