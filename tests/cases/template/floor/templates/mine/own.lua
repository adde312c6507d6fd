return "of the family"
