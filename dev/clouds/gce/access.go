package gce

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// The paths of endpoints that issue tokens: to service accounts, to external identities, and to those that
// may impersonate a service account.
const (
	tokenPath         = "/token"
	exchangePath      = "/v1/token"
	impersonationPath = "/v1/projects/-/serviceAccounts/"
)

// lifetime is the lifetime of a token.
const lifetime = time.Hour

// access has the accepted credentials.
type access struct {
	accounts map[string]ServiceAccount
	// tokens are the issued tokens, with the key of each.
	tokens map[string]grant
	// any: unknown service accounts, keys and external identities are accepted.
	any bool
}

type grant struct {
	account    ServiceAccount
	key        string
	until      time.Time
	federation *Federation // of a token that may only be exchanged
}

func newAccess(v Inventory, anybody bool) access {
	a := access{any: anybody, accounts: map[string]ServiceAccount{}, tokens: map[string]grant{}}
	for _, s := range v.ServiceAccounts {
		a.accounts[s.Email] = s
	}
	return a
}

// may reports whether the account has the permission.
func (s ServiceAccount) may(permission string) bool {
	return len(s.Permissions) == 0 || slices.ContainsFunc(s.Permissions, func(p string) bool {
		ok, _ := path.Match(p, permission)
		return ok
	})
}

// bearer identifies the sender of a request.
func (a *access) bearer(r *http.Request, now time.Time) (ServiceAccount, *failure) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, ok := a.tokens[token]
	if !ok || g.federation != nil || !now.Before(g.until) {
		return ServiceAccount{}, failed(http.StatusUnauthorized, "authError", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.")
	}
	account, ok := a.accounts[g.account.Email]
	if !ok || g.key != "" && !slices.ContainsFunc(account.Keys, func(k Key) bool { return k.ID == g.key }) {
		return account, failed(http.StatusUnauthorized, "authError", "Invalid Credentials")
	}
	return account, nil
}

func (a *access) give(g grant) resource {
	token := "ya29." + rand.Text()
	a.tokens[token] = g
	return resource{"access_token": token, "expires_in": int(lifetime.Seconds()), "token_type": "Bearer"}
}

// refused is an OAuth error.
func refused(w http.ResponseWriter, why, description string) {
	writeJSON(w, http.StatusBadRequest, resource{"error": why, "error_description": description})
}

// serveToken issues a token for a JWT that a key of a service account has signed (RFC 7523).
func serveToken(c *Cloud, w http.ResponseWriter, _ *http.Request, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		refused(w, "unsupported_grant_type", "Invalid grant_type: "+form.Get("grant_type"))
		return
	}
	g, err := c.access.signed(form.Get("assertion"), c.clock.Now())
	if err != nil {
		refused(w, "invalid_grant", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, c.access.give(g))
}

var (
	errSignature = errors.New("Invalid JWT Signature.")                                                                                                                     //nolint:staticcheck,revive // Google's words.
	errAccount   = errors.New("Invalid grant: account not found")                                                                                                           //nolint:staticcheck,revive // Google's words.
	errTime      = errors.New("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.") //nolint:staticcheck,revive // Google's words.
)

// claims are the checked claims.
type claims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Scope    string `json:"scope"`
	Expires  int64  `json:"exp"`
}

func (a *access) signed(assertion string, now time.Time) (grant, error) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return grant{}, errSignature
	}
	var head struct{ Alg, Kid string }
	var is claims
	if decodePart(parts[0], &head) != nil || decodePart(parts[1], &is) != nil || head.Alg != "RS256" {
		return grant{}, errSignature
	}
	account, ok := a.accounts[is.Issuer]
	if a.any && is.Issuer != "" && !ok {
		account, ok = ServiceAccount{Email: is.Issuer}, true
		a.accounts[is.Issuer] = account
	}
	switch {
	case !ok:
		return grant{}, errAccount
	case !strings.HasSuffix(is.Audience, tokenPath):
		return grant{}, fmt.Errorf("Invalid JWT: Failed audience check. The right audience is %s", tokenPath) //nolint:staticcheck // Google's words.
	case is.Expires <= now.Unix() || is.Expires > now.Add(2*lifetime).Unix():
		return grant{}, errTime
	case !strings.Contains(is.Scope, "/auth/cloud-platform") && !strings.Contains(is.Scope, "/auth/compute"):
		return grant{}, errors.New("Invalid OAuth scope or ID token audience provided.") //nolint:staticcheck,revive // Google's words.
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return grant{}, errSignature
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, k := range account.Keys {
		if k.ID == head.Kid && verifies(k.Public, sum[:], signature) {
			return grant{account: account, key: k.ID, until: now.Add(lifetime)}, nil
		}
	}
	if a.any {
		return grant{account: account, until: now.Add(lifetime)}, nil
	}
	return grant{}, errSignature
}

func decodePart(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func verifies(public string, sum, signature []byte) bool {
	block, _ := pem.Decode([]byte(public))
	if block == nil {
		return false
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(*rsa.PublicKey)
	return err == nil && ok && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum, signature) == nil
}

// IssueKey creates a key of a service account, and returns the JSON that Google Cloud issues for it: base is
// the URL of the simulator.
func (c *Cloud) IssueKey(email, base string) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	id := strings.ToLower(rand.Text())
	if err := acceptKey(c, email, Key{ID: id, Public: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))}); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{
		"type": "service_account", "project_id": c.options.Inventory.Project, "private_key_id": id,
		"private_key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		"client_email": email, "client_id": "1" + c.options.Inventory.Number, "token_uri": base + tokenPath,
	})
}

func acceptKey(c *Cloud, email string, k Key) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	account, ok := c.access.accounts[email]
	if !ok {
		return fmt.Errorf("the project has no service account %s", email)
	}
	account.Keys = append(slices.Clone(account.Keys), k)
	c.access.accounts[email] = account
	return nil
}

// RevokeKeys revokes all keys of a service account, and the tokens issued for them.
func (c *Cloud) RevokeKeys(email string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	account := c.access.accounts[email]
	account.Keys = nil
	c.access.accounts[email] = account
}

// Permit sets the permissions of a service account; without arguments, it has all.
func (c *Cloud) Permit(email string, permissions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	account := c.access.accounts[email]
	account.Permissions = permissions
	c.access.accounts[email] = account
}

// serveExchange issues a token of the security token service for an external one (RFC 8693).
func serveExchange(c *Cloud, w http.ResponseWriter, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" {
		refused(w, "invalid_request", "Invalid value for \"grant_type\".")
		return
	}
	f, ok := find(c.options.Inventory.Federations, func(f Federation) bool {
		return f.Audience == form.Get("audience") && f.Token == form.Get("subject_token")
	})
	if !ok && c.access.any {
		f, ok = Federation{Audience: form.Get("audience"), Token: form.Get("subject_token")}, true
	}
	if !ok {
		refused(w, "invalid_grant", "The given credential is rejected by the attribute condition.")
		return
	}
	answer := c.access.give(grant{federation: &f, until: c.clock.Now().Add(lifetime)})
	writeJSON(w, http.StatusOK, answer.with(resource{"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}))
}

// serveImpersonation issues a token of a service account for one of a federation.
func serveImpersonation(c *Cloud, w http.ResponseWriter, r *http.Request) {
	email, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, impersonationPath), ":generateAccessToken")
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g := c.access.tokens[token]
	account, known := c.access.accounts[email]
	if c.access.any && g.federation != nil && g.federation.Email == "" {
		if account, known = (ServiceAccount{Email: email}), true; c.access.accounts[email].Email == "" {
			c.access.accounts[email] = account
		}
		g.federation = &Federation{Email: email}
	}
	if !ok || !known || g.federation == nil || g.federation.Email != email || !c.clock.Now().Before(g.until) {
		writeJSON(w, http.StatusForbidden, resource{"error": resource{
			"code": 403, "message": "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).", "status": "PERMISSION_DENIED",
		}})
		return
	}
	until := c.clock.Now().Add(lifetime)
	answer := c.access.give(grant{account: account, until: until})
	writeJSON(w, http.StatusOK, resource{"accessToken": answer["access_token"], "expireTime": until.UTC().Format(time.RFC3339)})
}
