package kubeapi

import (
	"fmt"
	"slices"
)

// Revoke implements [double.Lender]. The first account is the first namespace.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var others []User
	for _, u := range s.users {
		if u.Namespace == s.options.Namespaces[0].Name {
			s.revoked = append(s.revoked, u)
		} else {
			others = append(others, u)
		}
	}
	s.users = others
}

// Restore implements [double.Lender].
func (s *Server) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users, s.revoked = slices.Concat(s.users, s.revoked), nil
}

// Issue implements [double.Lender]: for a user of the first namespace, or of the namespace of the account's
// name.
func (s *Server) Issue(account string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, sample := s.options.Namespaces[0].Name, s.options.Users[0]
	replaced := map[string]string{}
	if account != "" {
		if _, ok := s.namespaceUID(account); !ok {
			return nil, fmt.Errorf("there is no namespace %q", account)
		}
		replaced["namespace: "+first], first = "namespace: "+account, account
	}
	u := User{Name: "system:serviceaccount:" + first + ":machines", Token: s.NewUID("token"), Namespace: first}
	s.users = append(slices.Clone(s.users), u)
	replaced[sample.Token] = u.Token
	return replaced, nil
}
