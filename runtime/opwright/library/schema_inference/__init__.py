"""`infer_schema`: the schema that a function's annotations say."""

from opwright.library.schema_inference.inference import InferredSchema, infer, infer_schema

__all__ = ["InferredSchema", "infer", "infer_schema"]
