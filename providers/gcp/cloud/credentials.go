package cloud

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/google/externalaccount"

	"github.com/millwright-dev/millwright/provider"
)

// Keys of secrets, in the order of precedence: the file of Google Cloud for a service account, or the
// configuration for the exchange of an external identity. The first is OpenShift's, the others are
// Gardener's.
var loginKeys = []string{"service_account.json", "serviceAccountJSON", "serviceaccount.json", "credentialsConfig"}

// Keys of further data: the project, if the file does not name it, and the token of an external identity.
const (
	projectKey = "projectID"
	tokenKey   = "token"
)

// platformScope is the scope of tokens.
const platformScope = "https://www.googleapis.com/auth/cloud-platform"

// defaultUniverse is Google's own cloud; other operators run others, at other addresses.
const defaultUniverse = "googleapis.com"

// login has the credentials.
type login struct {
	file    file
	raw     []byte
	project string
	// secret is the part of the secret that they come from.
	secret map[string][]byte
}

// file is the part of it that this package reads.
type file struct {
	Type           string `json:"type"`
	ProjectID      string `json:"project_id"`
	ClientEmail    string `json:"client_email"`
	PrivateKey     string `json:"private_key"`
	UniverseDomain string `json:"universe_domain"`

	Audience          string                            `json:"audience"`
	SubjectTokenType  string                            `json:"subject_token_type"`
	TokenURL          string                            `json:"token_url"`
	ImpersonationURL  string                            `json:"service_account_impersonation_url"`
	CredentialSource  *externalaccount.CredentialSource `json:"credential_source"`
	WorkforceProject  string                            `json:"workforce_pool_user_project"`
	ImpersonationSpan struct {
		Seconds int `json:"token_lifetime_seconds"`
	} `json:"service_account_impersonation"`
}

func denied(format string, args ...any) error {
	return provider.Errorf(provider.Denied, format, args...)
}

// loginOf reads the data of a secret.
func loginOf(credentials map[string][]byte) (l login, err error) {
	l.secret = map[string][]byte{}
	for _, key := range loginKeys {
		if raw := bytes.TrimSpace(credentials[key]); len(raw) > 0 {
			l.raw, l.secret[key] = raw, raw
			break
		}
	}
	if l.raw == nil {
		return l, denied("the credentials have none of the keys %s", strings.Join(loginKeys, ", "))
	}
	if err := json.Unmarshal(l.raw, &l.file); err != nil {
		return l, denied("the credentials are no JSON as Google Cloud gives it for a service account")
	}
	for _, key := range []string{projectKey, tokenKey} {
		if raw, ok := credentials[key]; ok {
			l.secret[key] = raw
		}
	}
	l.project = cmp.Or(l.file.ProjectID, strings.TrimSpace(string(credentials[projectKey])))
	switch l.file.Type {
	case "service_account":
		if l.file.ClientEmail == "" || l.file.PrivateKey == "" {
			return l, denied("the credentials lack client_email or private_key")
		}
		if !isKey(l.file.PrivateKey) {
			return l, denied("the private_key of the credentials is no RSA key in PEM")
		}
	case "external_account":
		if l.file.Audience == "" || l.file.SubjectTokenType == "" {
			return l, denied("the credentials lack audience or subject_token_type")
		}
		if s := l.file.CredentialSource; s != nil && (s.Executable != nil || s.EnvironmentID != "") {
			return l, denied("credential_source may name a file or a URL, and no program")
		}
		if s := l.file.CredentialSource; s != nil && s.File != "" && isBelow(s.File, podAccount...) {
			return l, denied("credential_source.file may be no file below %s: what is there is the pod's own", podAccount[0])
		}
	default:
		return l, denied("the credentials are of type %q, want service_account or external_account", provider.Clip(l.file.Type, 100))
	}
	return l, nil
}

// isKey reports whether a text is an RSA private key.
func isKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return true
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	_, ok := key.(*rsa.PrivateKey)
	return err == nil && ok
}

func (l login) universe() string { return cmp.Or(l.file.UniverseDomain, defaultUniverse) }

// tokens returns a source of tokens that uses the HTTP client of ctx.
func (l login) tokens(ctx context.Context, e endpoints) (oauth2.TokenSource, error) {
	if l.file.Type == "external_account" {
		return l.exchanged(ctx, e)
	}
	if l.universe() != defaultUniverse {
		// In other universes the signed text is a token already.
		s, err := google.JWTAccessTokenSourceWithScope(l.raw, platformScope)
		if err != nil {
			return nil, denied("read the credentials: %w", err)
		}
		return s, nil
	}
	config, err := google.JWTConfigFromJSON(l.raw, platformScope)
	if err != nil {
		return nil, denied("read the credentials: %w", err)
	}
	return config.TokenSource(ctx), nil
}
