package main

import (
	"bytes"
	"encoding/pem"
	"runtime/debug"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// trusted is the module with the certificate authorities of Mozilla.
const trusted = "golang.org/x/crypto/x509roots/fallback"

// authorities returns the certificate authorities of Mozilla in PEM, which programs find in the usual file of a system. A
// provider needs them for the API of its cloud. Authorities that Mozilla trusts only under conditions are omitted, because a
// file of certificates cannot contain conditions.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a write to a buffer does not fail
		}
	}
	return out.Bytes()
}

// trustedModule returns that module in the version of this build; nil if the build has no information about modules.
func trustedModule() *debug.Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, m := range info.Deps {
		if m.Path == trusted {
			return m
		}
	}
	return nil
}
