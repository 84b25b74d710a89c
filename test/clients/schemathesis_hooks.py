"""Bodies of an append are bytes: https://schemathesis.readthedocs.io, custom media types."""

import schemathesis

schemathesis.serializer.alias("application/partial-upload", "application/octet-stream")
