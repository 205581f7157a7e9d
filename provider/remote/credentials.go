package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLS has the PEM files by which both sides authenticate each other. They are read for each connection, so
// that a renewal needs no restart.
type TLS struct {
	// Cert and Key are this side's. CA signs the other side's: use one that signs nothing else, since every
	// holder of one of its certificates has access.
	Cert, Key, CA string
	// ServerName is the name in the provider's certificate; empty: the host of its address. A server
	// ignores it.
	ServerName string
}

// load reads the files.
func (t *TLS) load() (certificate tls.Certificate, ca *x509.CertPool, err error) {
	if certificate, err = tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
		return certificate, nil, fmt.Errorf("read the certificate: %w", err)
	}
	raw, err := os.ReadFile(t.CA)
	if err != nil {
		return certificate, nil, fmt.Errorf("read the CA: %w", err)
	}
	ca = x509.NewCertPool()
	if !ca.AppendCertsFromPEM(raw) {
		return certificate, nil, fmt.Errorf("read the CA: %s has no certificate", t.CA)
	}
	return certificate, ca, nil
}

var errPlain = errors.New("credentials of clouds go over the connection: " +
	"it is a unix socket (unix:///path), or it has TLS on both sides (certificate, key and CA)")

// client returns the credentials of the side that dials.
func (t *TLS) client(network, address string) (credentials.TransportCredentials, error) {
	switch {
	case network == "unix" && t == nil:
		return insecure.NewCredentials(), nil
	case network == "unix":
		return nil, errors.New("a unix socket has no TLS: leave out certificate, key and CA")
	case t == nil:
		return nil, errPlain
	}
	if _, _, err := t.load(); err != nil { // now, while a user watches
		return nil, err
	}
	name := t.ServerName
	if name == "" {
		name, _, _ = net.SplitHostPort(address)
	}
	return &renewed{TransportCredentials: credentials.NewTLS(&tls.Config{ServerName: name, MinVersion: tls.VersionTLS13}), files: t, name: name}, nil
}

// renewed are credentials whose files are read at each handshake.
type renewed struct {
	credentials.TransportCredentials
	files *TLS
	name  string
}

func (r *renewed) ClientHandshake(ctx context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	certificate, ca, err := r.files.load()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(&tls.Config{
		ServerName: r.name, Certificates: []tls.Certificate{certificate}, RootCAs: ca, MinVersion: tls.VersionTLS13,
	}).ClientHandshake(ctx, r.name, conn)
}

func (r *renewed) Clone() credentials.TransportCredentials {
	return &renewed{TransportCredentials: r.TransportCredentials.Clone(), files: r.files, name: r.name}
}

// server returns the credentials of the side that listens.
func (t *TLS) server(network string) (credentials.TransportCredentials, error) {
	switch {
	case network == "unix" && t == nil:
		return insecure.NewCredentials(), nil
	case network == "unix":
		return nil, errors.New("a unix socket has no TLS: leave out certificate, key and CA")
	case t == nil:
		return nil, errPlain
	}
	if _, _, err := t.load(); err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			certificate, ca, err := t.load()
			if err != nil {
				return nil, err
			}
			return &tls.Config{
				Certificates: []tls.Certificate{certificate}, ClientCAs: ca, ClientAuth: tls.RequireAndVerifyClientCert,
				MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
			}, nil
		},
	}), nil
}
