package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

// signatureFile is minisign's signature of the checksums. It covers every file of the release, because the checksums do.
const signatureFile = sumsFile + ".minisig"

// Environment variables for a build service, which has no key file.
const (
	keyVariable      = "MINISIGN_KEY"      // the text of the private key
	passwordVariable = "MINISIGN_PASSWORD" // its password, also for a key in a file
)

// signingKey reads the private key from a file or, without one, from the environment. It returns nil if neither names a key.
func signingKey(file string, getenv func(string) string) (*minisign.PrivateKey, error) {
	text := []byte(getenv(keyVariable))
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("-key: %w", err)
		}
	}
	if len(text) == 0 {
		return nil, nil
	}
	if minisign.IsEncrypted(text) {
		key, err := minisign.DecryptKey(getenv(passwordVariable), text)
		if err != nil {
			return nil, fmt.Errorf("decrypt the signing key with the password in %s: %w", passwordVariable, err)
		}
		return &key, nil
	}
	var key minisign.PrivateKey
	if err := key.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	return &key, nil
}

// sign signs the checksums of a folder. The comments have no time, so that two signatures of equal releases by one key are equal.
func sign(dir, version string, key minisign.PrivateKey) error {
	content, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	digest := minisign.NewReader(bytes.NewReader(content))
	if _, err := io.Copy(io.Discard, digest); err != nil {
		return err
	}
	signature := digest.SignWithComments(key, "Millwright "+version, "signature of "+sumsFile)
	return os.WriteFile(filepath.Join(dir, signatureFile), signature, 0o644)
}

// verify checks the signature of a release, and then the checksum of each of its files. Every file that the checksums name must exist.
func verify(dir string, key minisign.PublicKey) error {
	content, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if err != nil {
		return err
	}
	if !minisign.Verify(key, content, signature) {
		return fmt.Errorf("%s is not a signature of %s by key %s", signatureFile, sumsFile, key)
	}
	var wrong []error
	for line := range strings.Lines(string(content)) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		if !found {
			return fmt.Errorf("%s: want a checksum and a name, got %q", sumsFile, line)
		}
		file, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err == nil && fmt.Sprintf("%x", sha256.Sum256(file)) != sum {
			err = fmt.Errorf("%s has another checksum", name)
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// verifyBy verifies a release with the public key in a file.
func verifyBy(file, dir string) error {
	key, err := minisign.PublicKeyFromFile(file)
	if err != nil {
		return fmt.Errorf("-verify: read the public key: %w", err)
	}
	if err := verify(dir, key); err != nil {
		return err
	}
	fmt.Printf("%s: the signature and all checksums are right\n", dir)
	return nil
}
