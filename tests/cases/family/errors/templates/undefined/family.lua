return { name = undefined_name }
