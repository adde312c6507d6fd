return { name = "no_fields" }
