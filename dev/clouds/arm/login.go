package arm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// token is an issued token. A stranger's token is valid for any subscription.
type token struct {
	client, tenant string
	until          time.Time
	stranger       bool
}

// directory issues and validates tokens.
type directory struct{ *Cloud }

// tokenLifetime is the lifetime of tokens.
const tokenLifetime = time.Hour

// login answers the requests that client libraries send before their first call: endpoints, discovery, a token.
func (c directory) login(w http.ResponseWriter, r *http.Request, t target) {
	self := "https://" + r.Host
	switch t.login {
	case "endpoints":
		answer(w, http.StatusOK, map[string]any{
			"galleryEndpoint": self, "graphEndpoint": self, "portalEndpoint": self,
			"authentication": map[string]any{"loginEndpoint": self + "/", "audiences": []string{self}},
		})
	case "discovery":
		answer(w, http.StatusOK, map[string]any{
			"token_endpoint":         self + "/" + t.tenant + "/oauth2/v2.0/token",
			"authorization_endpoint": self + "/" + t.tenant + "/oauth2/v2.0/authorize",
			"issuer":                 self + "/" + t.tenant + "/v2.0",
		})
	case "instances":
		// The form of https://login.microsoftonline.com/common/discovery/instance?api-version=1.1
		answer(w, http.StatusOK, map[string]any{
			"tenant_discovery_endpoint": self + "/common/v2.0/.well-known/openid-configuration", "api-version": "1.1",
			"metadata": []any{map[string]any{"preferred_network": r.Host, "preferred_cache": r.Host, "aliases": []string{r.Host}}},
		})
	default:
		c.grant(w, r, t)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// loginError has the form of https://learn.microsoft.com/entra/identity-platform/reference-error-codes.
func loginError(w http.ResponseWriter, status int, code string, number int, text string) {
	answer(w, status, map[string]any{
		"error": code, "error_description": fmt.Sprintf("AADSTS%d: %s", number, text), "error_codes": []int{number},
		"trace_id": "00000000-0000-0000-0000-000000000000", "correlation_id": "00000000-0000-0000-0000-000000000000",
	})
}

// failLogin answers the login endpoint's requests with a failure.
func failLogin(w http.ResponseWriter, f double.Failure) {
	switch f.Kind {
	case "Denied", "Invalid":
		loginError(w, http.StatusUnauthorized, "invalid_client", 7000215, "Invalid client secret provided.")
	case "Throttled":
		loginError(w, http.StatusTooManyRequests, "temporarily_unavailable", 90055, "Server terminated the request because it was throttled.")
	default:
		loginError(w, http.StatusServiceUnavailable, "temporarily_unavailable", 90033, "A transient error has occurred. Please try again.")
	}
}

// grant issues a token for a client's secret, or for the assertion of a federated identity.
func (c directory) grant(w http.ResponseWriter, r *http.Request, t target) {
	if err := r.ParseForm(); err != nil {
		loginError(w, http.StatusBadRequest, "invalid_request", 900144, "The request body must contain parameters.")
		return
	}
	form := func(name string) string { return r.PostForm.Get(name) }
	if form("grant_type") != "client_credentials" || !strings.HasSuffix(form("scope"), "/.default") && !strings.Contains(form("scope"), "/.default ") {
		loginError(w, http.StatusBadRequest, "invalid_scope", 70011, "The provided request must include a 'scope' input parameter that ends with /.default.")
		return
	}
	var known *Account
	for i := range c.Inventory.Accounts {
		if a := &c.Inventory.Accounts[i]; strings.EqualFold(a.Tenant, t.tenant) && a.ClientID == form("client_id") {
			known = a
		}
	}
	stranger := false
	if c.AcceptAny && !c.shut && (known == nil || form("client_assertion") == "" && form("client_secret") != known.ClientSecret || form("client_assertion") != "") {
		known, stranger = &Account{Tenant: t.tenant, ClientID: form("client_id"), ClientSecret: form("client_secret"), Assertion: form("client_assertion")}, true
	}
	switch {
	case known == nil:
		loginError(w, http.StatusBadRequest, "unauthorized_client", 700016, "Application with identifier '"+form("client_id")+"' was not found in the directory '"+t.tenant+"'.")
		return
	case form("client_assertion") != "" && !known.trusts(form("client_assertion_type"), form("client_assertion")):
		loginError(w, http.StatusUnauthorized, "invalid_client", 700211, "No matching federated identity record found for presented assertion issuer.")
		return
	case form("client_assertion") == "" && (known.ClientSecret == "" || form("client_secret") != known.ClientSecret):
		loginError(w, http.StatusUnauthorized, "invalid_client", 7000215, "Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID.")
		return
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", known.ClientID, c.number()))
	text := hex.EncodeToString(sum[:])
	c.tokens[text] = token{client: known.ClientID, tenant: known.Tenant, until: c.clock.Now().Add(tokenLifetime), stranger: stranger}
	answer(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "expires_in": int(tokenLifetime.Seconds()), "ext_expires_in": int(tokenLifetime.Seconds()), "access_token": text,
	})
}

// assertionType is the assertion type of workloads: https://datatracker.ietf.org/doc/html/rfc7523
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

func (a *Account) trusts(kind, assertion string) bool {
	if kind != assertionType || a.Assertion == "" {
		return false
	}
	return a.Assertion == assertion || a.Assertion == "*" && strings.Count(assertion, ".") == 2
}

// authenticate returns the account of a request's token, if it has permission for the request.
func (c directory) authenticate(r *http.Request, t target) (Account, *apiError) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return Account{}, refuse(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	held, ok := c.tokens[text]
	switch {
	case !ok:
		return Account{}, refuse(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	case c.clock.Now().After(held.until):
		return Account{}, refuse(http.StatusUnauthorized, "ExpiredAuthenticationToken", "The access token expiry UTC time '%s' is earlier than current UTC time.", held.until.UTC())
	}
	for _, a := range c.Inventory.Accounts {
		if a.ClientID != held.client || a.Tenant != held.tenant || t.subscription != "" && !strings.EqualFold(a.Subscription, t.subscription) {
			continue
		}
		if t.kind != graph && t.kind != "operations" && !a.inScope(t).may(t.permission()) {
			return a, forbidden(a, t.permission(), t.id())
		}
		return a, nil
	}
	if held.stranger {
		return Account{Tenant: held.tenant, ClientID: held.client, Subscription: t.subscription, stranger: true}, nil
	}
	if known := c.knows(t.subscription); !known {
		return Account{}, refuse(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", t.subscription)
	}
	return Account{}, forbidden(Account{ClientID: held.client}, t.permission(), t.id())
}

func (c directory) knows(subscription string) bool {
	for _, a := range c.Inventory.Accounts {
		if strings.EqualFold(a.Subscription, subscription) {
			return true
		}
	}
	return false
}

func forbidden(a Account, action, scope string) *apiError {
	return refuse(http.StatusForbidden, "AuthorizationFailed", "The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. "+
		"If access was recently granted, please refresh your credentials.", a.ClientID, a.ClientID, action, scope)
}

// inScope is the account, with the role that applies to the request.
func (a Account) inScope(t target) Account {
	if t.group == "" && len(a.SubscriptionActions) > 0 {
		a.Actions = a.SubscriptionActions
	}
	return a
}

// may reports whether the role allows an action. A * matches any text, including slashes.
func (a Account) may(action string) bool {
	if len(a.Actions) == 0 {
		return true
	}
	flat := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "/", "|")) }
	for _, pattern := range a.Actions {
		if ok, _ := path.Match(flat(pattern), flat(action)); ok {
			return true
		}
	}
	return false
}

// join checks that the role allows the use of a referenced resource.
func (a Account) join(action, client, scope string) *apiError {
	if a.may(action) {
		return nil
	}
	return refuse(http.StatusForbidden, "LinkedAuthorizationFailed", "The client '%s' with object id '%s' has permission to perform the action on its own resource; however, it does not have permission to perform "+
		"action(s) '%s' on the linked scope(s) '%s' (respectively) or the linked scope(s) are invalid.", client, client, action, scope)
}
