package cloud

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// keyAPIKey is the key of secrets with credentials, as in the original.
const keyAPIKey = "ibmcloud_api_key"

// apiKeyOf reads a secret. A missing key is a Denied error, since other credentials fix it.
func apiKeyOf(secret map[string][]byte) (string, error) {
	key := strings.TrimSpace(string(secret[keyAPIKey]))
	if key == "" {
		return "", provider.Errorf(provider.Denied, "the secret has no %s, an API key of IBM Cloud", keyAPIKey)
	}
	return key, nil
}

// relevant is the part of a secret that identifies the caller.
func relevant(secret map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	if value, ok := secret[keyAPIKey]; ok {
		out[keyAPIKey] = value
	}
	return out
}

// token is a token of IAM, with the account of its API key.
type token struct{ text, account string }

// tokens are the tokens of an API key. Each is valid for an hour, and is replaced before.
type tokens struct {
	http   *http.Client
	url    string
	key    string
	issued *kit.Memo[token]
}

// tokenAge is the age at which a token is replaced: four fifths of its lifetime, as the vendor's SDK does.
const tokenAge = 48 * time.Minute

func newTokens(h *http.Client, clock provider.Clock, url, key string) *tokens {
	return &tokens{http: h, url: url, key: key, issued: kit.NewMemo[token](clock, tokenAge)}
}

func (t *tokens) get(ctx context.Context) (token, error) { return t.issued.Get(ctx, "", t.create) }

func (t *tokens) forget() { t.issued.ForgetAll() }

// apiKeyGrant is the type of a request for a token by an API key.
const apiKeyGrant = "urn:ibm:params:oauth:grant-type:apikey" //nolint:gosec // It is no credential.

// create exchanges the API key for a token. Any refusal of IAM is Denied: another key fixes it.
func (t *tokens) create(ctx context.Context) (token, error) {
	const doing = "request a token of IAM for the API key"
	form := url.Values{"grant_type": {apiKeyGrant}, "apikey": {t.key}, "response_type": {"cloud_iam"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+"/identity/token", strings.NewReader(form.Encode()))
	if err != nil {
		return token{}, provider.Errorf(provider.Invalid, "the endpoint of IAM: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var out struct {
		Token string `json:"access_token"`
	}
	err = send(t.http, r, &out)
	if a, ok := answerOf(err); ok && a.status >= 400 && a.status < 500 && a.status != http.StatusTooManyRequests {
		return token{}, provider.Errorf(provider.Denied, "%s: %w", doing, a)
	}
	if err != nil {
		return token{}, classify(doing, err)
	}
	account := accountIn(out.Token)
	if account == "" {
		return token{}, provider.Errorf(provider.Transient, "%s: the token names no account", doing)
	}
	return token{text: out.Token, account: account}, nil
}

// accountIn is the account that a token names. The token is not verified: it comes from IAM itself.
func accountIn(text string) string {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var claims struct {
		Account struct {
			BSS string `json:"bss"`
		} `json:"account"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return ""
	}
	return claims.Account.BSS
}
