package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// keys are a new pair of keys, and the private one as a file has it.
func keys(t *testing.T) (minisign.PublicKey, minisign.PrivateKey, []byte) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return public, private, text
}

// TestSignature: a signed release is verified by its public key. Each change of a file, of the checksums or of the signature, and each other key, is refused.
func TestSignature(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	public, private, _ := keys(t)
	another, _, _ := keys(t)
	release := signed(t, &private)
	change := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			file := filepath.Join(dir, name)
			text := content(t, file)
			text[len(text)/2] ^= 1
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		reason string
		change func(t *testing.T, dir string)
		key    minisign.PublicKey
		err    string
	}{
		{"nothing has changed", nil, public, ""},
		{"another key", nil, another, "SHA256SUMS.minisig is not a signature of SHA256SUMS by key"},
		{"a file has changed", change("millwright.yaml"), public, "millwright.yaml has another checksum"},
		{"the manifest of krew has changed", change(pluginFile), public, "machine.yaml has another checksum"},
		{"the checksums have changed", change(sumsFile), public, "is not a signature of SHA256SUMS"},
		{"the signature has changed", change(signatureFile), public, "is not a signature of SHA256SUMS"},
		{"a file is missing", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, "millwright.yaml")); err != nil {
				t.Fatal(err)
			}
		}, public, "millwright.yaml: no such file"},
		{"the checksums and the file have changed together", func(t *testing.T, dir string) {
			t.Helper()
			change("millwright.yaml")(t, dir)
			if err := sums(dir); err != nil {
				t.Fatal(err)
			}
		}, public, "is not a signature of SHA256SUMS"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(release)); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(t, dir)
			}
			err := verify(dir, c.key)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
	if first, second := content(t, release, signatureFile), content(t, signed(t, &private), signatureFile); !bytes.Equal(first, second) {
		t.Errorf("two signatures of one version differ:\n%s\n%s", first, second)
	}
}

// A key of these tests, which is encrypted with the password "secret" at the least cost of scrypt: minisign's own cost is a gigabyte of memory.
const (
	encrypted = "untrusted comment: minisign encrypted secret key\n" +
		"RWRTY0IyJ40RhDvioVd8C7xPLRdFq6xjHPgNQjV8VeWkYyIOutAAgAAAAAAAAAAAAAEAAAAAIjCat32zOkxGD+v9AESeS2MZ01G2FYCzsWWRvwTckrXAazDAYtWrsiYUB5MGvDcnNFZv1mzpYk2uXbN1Mfy2/h6E6qqTxJvsuOVpwHqBnOvT1SqUdqPGBQ4BnMM278x6d/GWcGk7eRw="
	ofEncrypted = "RWSWpsW6frha1Asz7psIJr2ymaBuH5o9bfYCXKljIXAA7ByxGmqZ6oVK"
)

// TestSigningKey: where the private key is read from.
func TestSigningKey(t *testing.T) {
	public, _, text := keys(t)
	file := filepath.Join(t.TempDir(), "minisign.key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason, file, key, password, err, public string
	}{
		{reason: "a file", file: file, public: public.String()},
		{reason: "the environment", key: string(text), public: public.String()},
		{reason: "the file takes precedence", file: file, key: "x", public: public.String()},
		{reason: "encrypted", key: encrypted, password: "secret", public: ofEncrypted},
		{reason: "the wrong password", key: encrypted, password: "x", err: "with the password in MINISIGN_PASSWORD"},
		{reason: "no key", key: "x", err: "read the signing key"},
		{reason: "a missing file", file: file + "x", err: "no such file"},
		{reason: "neither"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := signingKey(c.file, func(name string) string {
				return map[string]string{keyVariable: c.key, passwordVariable: c.password}[name]
			})
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
				t.Errorf("error %v, want %q", err, c.err)
			}
			of := ""
			if got != nil {
				of = fmt.Sprint(got.Public())
			}
			if of != c.public {
				t.Errorf("the key of %q, want that of %q", of, c.public)
			}
		})
	}
}
