// Package apiproxy puts a reverse proxy between a controller and its API server, for tests that lose answers.
package apiproxy

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Start starts a proxy to the API server, as the user of config. Each answer passes answer, whose error ends the connection; around, where
// it is not nil, stands before each request. The caller closes the server.
func Start(config *rest.Config, answer func(*http.Response) error, around func(pass http.Handler) http.Handler) (*httptest.Server, error) {
	upstream, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parse the URL of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	var pass http.Handler = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(upstream); r.Out.Header.Del("Authorization") },
		ModifyResponse: answer,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	if around != nil {
		pass = around(pass)
	}
	s := httptest.NewUnstartedServer(pass)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	return s, nil
}

// Kubeconfig returns a kubeconfig that leads to the API server through the proxy.
func Kubeconfig(s *httptest.Server) ([]byte, error) {
	const name = "proxy"
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	raw, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: s.URL, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a kubeconfig: %w", err)
	}
	return raw, nil
}
