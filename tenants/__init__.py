"""Who is calling: organizations, their applications, what an application declares, and the credentials."""
