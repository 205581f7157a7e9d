package main

import (
	"bytes"
	"encoding/pem"
	"runtime/debug"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// trusted is the module that has Mozilla's certificate authorities.
const trusted = "golang.org/x/crypto/x509roots/fallback"

// authorities are Mozilla's certificate authorities in PEM, which programs find where systems have theirs: a provider's program has none of its own, and
// speaks to a cloud. Those that Mozilla trusts under conditions are left out, because a file of certificates cannot say any.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return out.Bytes()
}

// trustedModule is that module as this command was built with it; nil where the build says nothing of modules.
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
