package gce

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/jwt"
)

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// Revoke implements [double.Lender]: all keys and tokens of service accounts become invalid, and external identities are not
// exchanged.
func (c Administered) Revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.access.keys.Revoke()
	c.access.federations.Revoke()
	clear(c.access.tokens)
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.access.keys.Restore()
	c.access.federations.Restore()
}

// TokenHost is the token endpoint in the keys of the real cloud.
const TokenHost = "https://oauth2.googleapis.com"

// sample has the key and the project in the samples.
type sample struct{ key, project string }

// StandFor sets the key and the project in the samples, so that [Administered.Issue] can return their
// replacements.
func (c Administered) StandFor(key []byte, project string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sample = sample{string(key), project}
}

// Issue implements [double.Lender], only for the simulator's own project: another account is another simulator.
func (c Administered) Issue(account string) (map[string]string, error) {
	v := c.options.Inventory
	if account != "" {
		return nil, fmt.Errorf("there is no account %q", account)
	}
	if len(v.ServiceAccounts) == 0 || c.sample.key == "" {
		return nil, errors.New("the inventory has no service account, or no key of one stands in samples")
	}
	key, err := c.IssueKey(v.ServiceAccounts[0].Email, TokenHost)
	return map[string]string{c.sample.key: string(key), c.sample.project: v.Project}, err
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	c.mu.Lock()
	i, ok := find(c.instances.All(), func(i instance) bool { return i.id == id || i.name == id })
	c.mu.Unlock()
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	body := maps.Clone(i.body)
	body["labels"] = i.is["labels"] // the current labels
	for _, field := range []string{"name", "labels", "tags", "disks"} {
		body[field] = renamed(body[field], rename)
	}
	return c.Plant(i.zone, body)
}

// renamed renames all texts in a value, and the keys of maps, which may be labels or fields of the API.
func renamed(v any, rename func(string) string) any {
	switch v := v.(type) {
	case string:
		return rename(v)
	case []any:
		out := make([]any, len(v))
		for n := range v {
			out[n] = renamed(v[n], rename)
		}
		return out
	case map[string]string:
		return double.Renamed(v, rename)
	case resource:
		return renamed(map[string]any(v), rename)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[rename(key)] = renamed(v[key], rename)
		}
		return out
	}
	return v
}

// Knows reports whether the project knows the sender of the request, or the identity for which the sender requests a
// token.
func (c Administered) Knows(r *http.Request, body []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		_, known := c.access.tokens[token]
		return known
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return false
	}
	var is claims
	if _, err := jwt.Parse(form.Get("assertion"), &is); err != nil {
		return false
	}
	_, known := c.access.accounts[is.Issuer]
	return known
}
