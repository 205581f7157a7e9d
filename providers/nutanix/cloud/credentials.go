package cloud

import (
	"encoding/json"

	"github.com/millwright-dev/millwright/provider"
)

// The keys of a secret with credentials. The original has the first only, and reads the address of Prism Central in the
// Infrastructure.
const (
	keyCredentials = "credentials"
	keyEndpoint    = "endpoint" // a URL
)

// basicAuth is the only type of credentials that the original supports.
const basicAuth = "basic_auth"

// login is a user of Prism Central.
type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// loginOf reads a secret: a JSON list of credentials, of which the first counts, as in the original. All
// faults are Denied errors, since other credentials fix them. They do not quote the secret.
func loginOf(secret map[string][]byte) (login, error) {
	var all []struct {
		Type string `json:"type"`
		Data struct {
			PrismCentral login `json:"prismCentral"`
		} `json:"data"`
	}
	raw, ok := secret[keyCredentials]
	if !ok {
		return login{}, provider.Errorf(provider.Denied, "the secret has no key %q", keyCredentials)
	}
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return login{}, provider.Errorf(provider.Denied, "the key %q of the secret is no JSON list of credentials", keyCredentials)
	}
	first := all[0]
	switch central := first.Data.PrismCentral; {
	case first.Type != basicAuth:
		return login{}, provider.Errorf(provider.Denied, "the credentials have the type %q: only %s is supported", provider.Clip(first.Type, 100), basicAuth)
	case central.Username == "" || central.Password == "":
		return login{}, provider.Errorf(provider.Denied, "the credentials have no data.prismCentral.username with data.prismCentral.password")
	default:
		return central, nil
	}
}

// relevant are the parts of a secret that identify the caller, so that different user data does not create
// another client.
func relevant(secret map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, key := range []string{keyCredentials, keyEndpoint} {
		if value, ok := secret[key]; ok {
			out[key] = value
		}
	}
	return out
}
