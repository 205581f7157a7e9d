package kubevirt

import (
	"slices"
	"strings"
)

// User may ask for something.
type User struct {
	Name  string `json:"name"`
	Token string `json:"token"`
	// Namespace is where.
	Namespace string `json:"namespace"`
	// Rules are all that it may; nil: whatever there is in the namespace.
	Rules []Rule `json:"rules,omitempty"`
}

// Rule is one of a Role.
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	Verbs         []string `json:"verbs"`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

func (k *call) user() (User, bool) {
	token, ok := strings.CutPrefix(k.r.Header.Get("Authorization"), "Bearer ")
	for _, u := range k.users {
		if ok && u.Token == token {
			return u, true
		}
	}
	return User{}, false
}

func (u User) may(verb string, t target) bool {
	if u.Namespace != t.namespace {
		return false
	}
	return u.Rules == nil || slices.ContainsFunc(u.Rules, func(r Rule) bool {
		return slices.Contains(r.APIGroups, t.group) && slices.Contains(r.Resources, t.name) && slices.Contains(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, t.object))
	})
}

// Needed are the rights that were made use of: "get virtualmachines.kubevirt.io".
func (c *Cloud) Needed() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for right := range c.needed {
		all = append(all, right)
	}
	slices.Sort(all)
	return all
}

// SetToken gives a user another token; the one before holds no more.
func (c *Cloud) SetToken(user, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = slices.Clone(c.users)
	for n := range c.users {
		if c.users[n].Name == user {
			c.users[n].Token = token
		}
	}
}

// SetRules says what a user may from now on.
func (c *Cloud) SetRules(user string, rules []Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = slices.Clone(c.users)
	for n := range c.users {
		if c.users[n].Name == user {
			c.users[n].Rules = rules
		}
	}
}
