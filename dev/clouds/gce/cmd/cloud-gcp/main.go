// Command cloud-gcp simulates Google Compute Engine: a project, and another one.
package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
)

func main() {
	command.Main("cloud-gcp", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, gce.Sample())
		if err != nil {
			return nil, err
		}
		cloud := func(v gce.Inventory) gce.Administered {
			return gce.Administered{Cloud: gce.New(clock, gce.Options{Inventory: v, AcceptAny: o.AcceptAny, Boot: o.Boot})}
		}
		return newProjects(inventory, cloud), nil
	})
}

// projects are two projects. The first one issues a key, because a file of samples must not contain one.
type projects struct {
	*double.Accounts
	first, other gce.Administered
	inventory    gce.Inventory
}

func newProjects(v gce.Inventory, cloud func(gce.Inventory) gce.Administered) projects {
	p := projects{first: cloud(v), other: cloud(another(v)), inventory: v}
	p.Accounts = double.NewAccounts(func(r *http.Request, body []byte) string {
		if p.other.Knows(r, body) {
			return other
		}
		return v.Project
	}, double.Account{Name: v.Project, Cloud: p.first}, double.Account{Name: other, Cloud: p.other})
	return p
}

// other is the name of the second account.
const other = "other"

// another is a project with the same resources under its own name.
func another(v gce.Inventory) gce.Inventory {
	was := v.Project
	v.Project, v.Number = was+"-other", v.Number+"0"
	v.ServiceAccounts = slices.Clone(v.ServiceAccounts)
	for n := range v.ServiceAccounts {
		a := &v.ServiceAccounts[n]
		a.Email, a.Keys = strings.Replace(a.Email, "@"+was+".", "@"+v.Project+".", 1), nil
	}
	v.Federations = nil
	return v
}

// account is the service account of the samples.
const account = "machines@rehearsal.iam.gserviceaccount.com"

// Manifests implements [command.Furnisher].
func (p projects) Manifests() ([]byte, error) {
	key, err := p.first.IssueKey(account, gce.TokenHost)
	if err != nil {
		return nil, err
	}
	p.first.StandFor(key, p.inventory.Project)
	p.other.StandFor(key, p.inventory.Project)
	return fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata: {name: gcp-cloud-credentials, namespace: openshift-machine-api}
stringData: {service_account.json: %[1]q}
---
apiVersion: v1
kind: Secret
metadata: {name: gcp-credentials, namespace: default}
stringData: {serviceAccountJSON: %[1]q}
`, key), nil
}
