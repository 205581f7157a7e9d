package cloud

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// The keys of secrets with credentials, as in the originals.
const (
	keyServiceAccount = "serviceAccountJSON"
	keyFolder         = "folderID"
)

// accountKey is an authorized key of a service account.
type accountKey struct {
	id, account string
	private     *rsa.PrivateKey
}

// identityOf reads a secret. Missing parts are a Denied error, since other credentials fix it.
func identityOf(secret map[string][]byte) (accountKey, string, error) {
	folder := strings.TrimSpace(string(secret[keyFolder]))
	if folder == "" {
		return accountKey{}, "", provider.Errorf(provider.Denied, "the secret has no %s, the ID of a folder", keyFolder)
	}
	if len(secret[keyServiceAccount]) == 0 {
		return accountKey{}, "", provider.Errorf(provider.Denied, "the secret has no %s, an authorized key of a service account", keyServiceAccount)
	}
	key, err := readKey(secret[keyServiceAccount])
	return key, folder, err
}

// readKey reads the JSON of an authorized key. Its fields have the names of the gRPC API, as the command line
// of Yandex Cloud writes them, or of the REST API.
func readKey(raw []byte) (accountKey, error) {
	var file struct {
		ID           string `json:"id"`
		Account      string `json:"service_account_id"`
		RESTAccount  string `json:"serviceAccountId"`
		Private      string `json:"private_key"`
		RESTPrivate  string `json:"privateKey"`
		UserAccount  string `json:"user_account_id"`
		RESTUserName string `json:"userAccountId"`
	}
	// The error of the decoder may quote the key.
	if json.Unmarshal(raw, &file) != nil {
		return accountKey{}, provider.Errorf(provider.Denied, "%s is no JSON of an authorized key", keyServiceAccount)
	}
	key := accountKey{id: file.ID, account: file.Account + file.RESTAccount}
	switch {
	case key.account == "" && file.UserAccount+file.RESTUserName != "":
		return accountKey{}, provider.Errorf(provider.Denied, "%s is the key of a user account: create a key of a service account", keyServiceAccount)
	case key.account == "":
		return accountKey{}, provider.Errorf(provider.Denied, "%s has no service_account_id", keyServiceAccount)
	case key.id == "":
		return accountKey{}, provider.Errorf(provider.Denied, "%s has no id", keyServiceAccount)
	}
	// Before the PEM block, the command line writes a line with the ID of the key.
	block, _ := pem.Decode([]byte(file.Private + file.RESTPrivate))
	if block == nil {
		return accountKey{}, provider.Errorf(provider.Denied, "%s has no private_key in PEM format", keyServiceAccount)
	}
	if key.private = parsePrivate(block.Bytes); key.private == nil {
		return accountKey{}, provider.Errorf(provider.Denied, "the private_key of %s is no RSA key", keyServiceAccount)
	}
	return key, nil
}

// parsePrivate parses an RSA key in PKCS #8 or PKCS #1 format; nil for anything else.
func parsePrivate(der []byte) *rsa.PrivateKey {
	if parsed, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		key, _ := parsed.(*rsa.PrivateKey)
		return key
	}
	key, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil {
		return nil
	}
	return key
}

// relevant are the parts of a secret that identify the caller, so that different user data does not create
// another client.
func relevant(secret map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, key := range []string{keyServiceAccount, keyFolder} {
		if value, ok := secret[key]; ok {
			out[key] = value
		}
	}
	return out
}
