"""Pages with pictures, tables and claims: layout, drawing, template."""
