package gce

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/jwt"
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
	accounts    map[string]ServiceAccount
	keys        *double.Credentials[accountKey]
	federations *double.Credentials[Federation]
	// tokens are the issued tokens, with the key of each.
	tokens map[string]grant
}

// accountKey is a key of a service account.
type accountKey struct {
	email string
	Key
}

type grant struct {
	account    ServiceAccount
	key        string
	until      time.Time
	federation *Federation // of a token that may only be exchanged
}

func newAccess(v Inventory, acceptAny bool) access {
	a := access{accounts: map[string]ServiceAccount{}, tokens: map[string]grant{}, keys: double.NewCredentials[accountKey](acceptAny, nil), federations: double.NewCredentials(acceptAny, nil, v.Federations...)}
	for _, s := range v.ServiceAccounts {
		a.accounts[s.Email] = s
		for _, k := range s.Keys {
			a.keys.Add(accountKey{s.Email, k})
		}
	}
	return a
}

// may reports whether the account has the permission.
func (s ServiceAccount) may(permission string) bool {
	return double.Permitted(permission, s.Permissions, nil)
}

// bearer identifies the sender of a request.
func (a *access) bearer(r *http.Request, now time.Time) (ServiceAccount, *failure) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, ok := a.tokens[token]
	if !ok || g.federation != nil || !now.Before(g.until) {
		return ServiceAccount{}, failed(http.StatusUnauthorized, "authError", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.")
	}
	account, ok := a.accounts[g.account.Email]
	_, holds := a.keys.Find(func(k accountKey) bool { return k.email == account.Email && k.ID == g.key })
	if !ok || g.key != "" && !holds {
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
	var is claims
	token, err := jwt.Parse(assertion, &is)
	if err != nil || token.Algorithm != "RS256" {
		return grant{}, errSignature
	}
	account, ok := a.accounts[is.Issuer]
	acceptAny := a.keys.AcceptsUnknown()
	if acceptAny && is.Issuer != "" && !ok {
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
	key, ok := a.keys.Find(func(k accountKey) bool {
		return k.email == is.Issuer && k.ID == token.KeyID && token.SignedBy(k.Public)
	})
	if !ok && !acceptAny {
		return grant{}, errSignature
	}
	return grant{account: account, key: key.ID, until: now.Add(lifetime)}, nil
}

// IssueKey creates a key of a service account, and returns the JSON that Google Cloud issues for it: base is
// the URL of the simulator.
func (c *Cloud) IssueKey(email, base string) ([]byte, error) {
	private, public, err := jwt.NewKey()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.access.accounts[email]; !ok {
		return nil, fmt.Errorf("the project has no service account %s", email)
	}
	id := strings.ToLower(rand.Text())
	c.access.keys.Add(accountKey{email, Key{ID: id, Public: public}})
	return json.Marshal(map[string]string{
		"type": "service_account", "project_id": c.options.Inventory.Project, "private_key_id": id, "private_key": private,
		"client_email": email, "client_id": "1" + c.options.Inventory.Number, "token_uri": base + tokenPath,
	})
}

// RevokeKeys revokes all keys of a service account, and the tokens issued for them.
func (c *Cloud) RevokeKeys(email string) {
	c.access.keys.Remove(func(k accountKey) bool { return k.email == email })
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
	f, ok := c.access.federations.Find(func(f Federation) bool {
		return f.Audience == form.Get("audience") && f.Token == form.Get("subject_token")
	})
	if !ok && c.access.federations.AcceptsUnknown() {
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
	if c.access.federations.AcceptsUnknown() && g.federation != nil && g.federation.Email == "" {
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
