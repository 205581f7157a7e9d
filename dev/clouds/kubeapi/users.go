package kubeapi

import (
	"slices"
	"strings"
)

// User is a user of the API server.
type User struct {
	Name  string `json:"name"`
	Token string `json:"token"`
	// Namespace is the namespace of its rules; empty: all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Rules are its permissions; nil: all.
	Rules []Rule `json:"rules,omitempty"`
}

// Rule is a rule of a Role.
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	Verbs         []string `json:"verbs"`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

func (k *call) user() (User, bool) {
	token, ok := strings.CutPrefix(k.r.Header.Get("Authorization"), "Bearer ")
	return k.Credentials.Find(func(u User) bool { return ok && u.Token == token })
}

func (u User) may(verb string, t target) bool {
	if u.Namespace != "" && u.Namespace != t.namespace {
		return false
	}
	return u.Rules == nil || slices.ContainsFunc(u.Rules, func(r Rule) bool {
		return slices.Contains(r.APIGroups, t.Group) && slices.Contains(r.Resources, t.Name) && slices.Contains(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, t.object))
	})
}

// Needed are the permissions that were used: "get virtualmachines.kubevirt.io".
func (s *Server) Needed() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for right := range s.needed {
		all = append(all, right)
	}
	slices.Sort(all)
	return all
}

// SetToken replaces a user's token.
func (s *Server) SetToken(user, token string) {
	s.change(user, func(u *User) { u.Token = token })
}

// SetRules replaces a user's permissions.
func (s *Server) SetRules(user string, rules []Rule) {
	s.change(user, func(u *User) { u.Rules = rules })
}

func (s *Server) change(user string, to func(*User)) {
	s.Credentials.Change(func(u *User) {
		if u.Name == user {
			to(u)
		}
	})
}
