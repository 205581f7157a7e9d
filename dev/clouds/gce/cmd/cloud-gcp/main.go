// Command cloud-gcp plays Google Compute Engine.
package main

import (
	"fmt"

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
		return project{gce.New(clock, gce.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, nil
	})
}

// project issues a key, which no file of samples may have.
type project struct{ *gce.Cloud }

// account is the service account of the samples.
const account = "machines@rehearsal.iam.gserviceaccount.com"

// Manifests implements [command.Furnisher].
func (p project) Manifests() ([]byte, error) {
	key, err := p.IssueKey(account, "https://oauth2.googleapis.com")
	if err != nil {
		return nil, err
	}
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
