"""Elements at other positions: shapes, joins, indices."""
