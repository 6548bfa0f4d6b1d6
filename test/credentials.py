"""The credentials of the processes that the engine starts, for a second client."""


def configured(security):
    """Credentials as Dask's configuration holds them, in place of files."""
    return {
        'distributed.comm.tls.ca-file': security.tls_ca_file,
        'distributed.comm.tls.client.cert': security.tls_client_cert,
        'distributed.comm.tls.client.key': security.tls_client_key,
    }
