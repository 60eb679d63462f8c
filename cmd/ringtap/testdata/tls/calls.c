// A TLS client and server in one thread that exchange data by memory. It waits for a line, makes
// its calls, prints each with what it returned, then "done", and stays until its input ends.
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static char calls[64 << 10];
static int length;

// note notes a call, to print it when the last one has returned.
static int note(const char *function, int result)
{
	length += snprintf(calls + length, sizeof calls - length, "%s %d\n", function, result);
	return result;
}

static void need(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s\n", what);
		exit(1);
	}
}

static SSL *end(SSL_CTX *context, BIO *transport)
{
	SSL *ssl = SSL_new(context);
	need(ssl != NULL, "SSL_new");
	SSL_set_bio(ssl, transport, transport);
	return ssl;
}

// certify gives a context a key and a certificate that it has signed itself.
static void certify(SSL_CTX *context)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	X509 *certificate = X509_new();
	need(key != NULL && certificate != NULL, "key");
	X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_set_pubkey(certificate, key);
	need(X509_sign(certificate, key, EVP_sha256()) > 0, "X509_sign");
	need(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1, "certificate");
}

static void pass(SSL *from, SSL *to, int size)
{
	char data[128] = {0};
	need(note("SSL_write", SSL_write(from, data, size)) == size, "SSL_write");
	need(note("SSL_read", SSL_read(to, data, sizeof data)) == size, "SSL_read");
}

int main(int argc, char **argv)
{
	int messages = atoi(argv[1]);
	SSL_CTX *ours = SSL_CTX_new(TLS_client_method()), *theirs = SSL_CTX_new(TLS_server_method());
	BIO *left, *right;
	need(ours != NULL && theirs != NULL && BIO_new_bio_pair(&left, 0, &right, 0) == 1, "SSL_CTX_new");
	certify(theirs);
	SSL *client = end(ours, left), *server = end(theirs, right);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	puts("ready");
	fflush(stdout);
	getchar();
	for (int c = 0, s = 0; c != 1 || s != 1;) {
		if (c != 1)
			c = note("SSL_do_handshake", SSL_do_handshake(client));
		if (s != 1)
			s = note("SSL_do_handshake", SSL_do_handshake(server));
	}
	for (int i = 0; i < messages; i++) {
		pass(client, server, 1 + i % 100);
		pass(server, client, 1 + i % 100);
	}
	char none;
	need(note("SSL_read", SSL_read(server, &none, 1)) < 0, "SSL_read of nothing");
	printf("%sdone\n", calls);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
