package rights

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Request is what one account asked an API server for.
type Request struct {
	// Account is the folder of config/rbac whose roles the account has; empty for accounts that are not ours.
	Account                                string
	Verb, Group, Resource, Namespace, Name string
	// Refused is true where the authorizer decided so. What admission refuses was allowed by a role.
	Refused bool
}

// String is the request in the words of a role.
func (q Request) String() string {
	where := ""
	if q.Namespace != "" {
		where = " in " + q.Namespace
	}
	return fmt.Sprintf("%s: %s %s%s", q.Account, q.Verb, resource(q.Group, q.Resource), where)
}

// resource is how kubectl writes the resources of a group: machines/status.machine.sapcloud.io.
func resource(group, name string) string {
	return strings.TrimSuffix(name+"."+group, ".")
}

// event has the fields of audit.k8s.io/v1, Event, that are read here.
type event struct {
	Verb             string
	User             struct{ Username string }
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ Resource, Subresource, Namespace, Name, APIGroup string }
	Annotations      map[string]string
}

// Read hands on the requests of our accounts in an audit log, which has one event a line. It leaves out what cannot be read:
// the last line of a server that was killed may be half written.
func Read(log io.Reader, each func(Request)) error {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.ObjectRef.Resource != "" {
			if q := e.request(); q.Account != "" {
				each(q)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read an audit log: %w", err)
		}
	}
}

func (e *event) request() Request {
	user := e.User.Username
	if e.ImpersonatedUser.Username != "" {
		user = e.ImpersonatedUser.Username
	}
	kind := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		kind += "/" + e.ObjectRef.Subresource
	}
	return Request{
		Account: account(user), Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: kind,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Refused: e.Annotations["authorization.k8s.io/decision"] == "forbid",
	}
}

// demonstrated are the users that a fleet on this machine gives roles to, which are not ServiceAccounts there.
var demonstrated = map[string]string{
	"millwright:machine-controller-manager":  "machine-controller-manager",
	"millwright:machine-controller-kubemark": "machine-controller",
}

// namespaces are those whose ServiceAccounts are ours.
var namespaces = []string{"millwright-system", "openshift-machine-api"}

// account is the folder of config/rbac that a user has its roles from.
func account(user string) string {
	if folder := demonstrated[user]; folder != "" {
		return folder
	}
	namespace, name, ok := strings.Cut(strings.TrimPrefix(user, "system:serviceaccount:"), ":")
	if !ok || !slices.Contains(namespaces, namespace) {
		return ""
	}
	return name
}
