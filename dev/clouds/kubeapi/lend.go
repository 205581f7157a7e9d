package kubeapi

import "fmt"

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
	s.Credentials.Add(u)
	replaced[sample.Token] = u.Token
	return replaced, nil
}
