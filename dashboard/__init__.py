"""The dashboard: formats what the library computes, and computes nothing."""

import logging

# The server imports cached functions before it runs, to be warm; Streamlit's warnings about that help nobody.
logging.getLogger("streamlit.runtime.caching.cache_data_api").addFilter(
    lambda record: "No runtime found" not in record.getMessage()
)
