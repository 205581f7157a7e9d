package reference

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/adapters/internal/nova"
)

// spec is the actuator's own provider spec.
type spec struct {
	Region           string                `json:"region"`
	AvailabilityZone string                `json:"availabilityZone"`
	Image            string                `json:"image"`
	Flavor           string                `json:"flavor"`
	Network          string                `json:"network"`
	UserDataSecret   struct{ Name string } `json:"userDataSecret"`
	CloudSecret      struct{ Name string } `json:"cloudSecret"`
}

// site is where a machine's server is.
type site struct {
	cloud *nova.Cloud
	spec  spec
	// id is that of the server that the machine records; empty: it records none.
	id, name string
	tags     map[string]string
}

// open decodes the machine's spec, reads the credentials, and logs in: for each call anew.
func (a *Actuator) open(ctx context.Context, m *machinev1.Machine) (*site, error) {
	recorded := ptr.Deref(m.Spec.ProviderID, "")
	s := &site{id: recorded[strings.LastIndexByte(recorded, '/')+1:], name: m.Name, tags: map[string]string{"openshiftClusterID": m.Labels[clusterLabel]}}
	if m.Labels[clusterLabel] == "" {
		return nil, invalid("%s: missing %q label", m.Name, clusterLabel)
	}
	if m.Spec.ProviderSpec.Value == nil {
		return nil, invalid("%s: spec.providerSpec.value is empty", m.Name)
	}
	if err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &s.spec); err != nil {
		return nil, invalid("%s: failed to decode the provider spec: %v", m.Name, err)
	}
	data, err := a.secret(ctx, m.Namespace, s.spec.CloudSecret.Name)
	if err != nil {
		return nil, err
	}
	s.cloud, err = nova.Login(ctx, a.HTTP, nova.Credentials{
		AuthURL: string(data["authURL"]), Username: string(data["username"]), Password: string(data["password"]),
		Domain: string(data["domain"]), Project: string(data["project"]),
	}, s.spec.Region)
	return s, err
}

// servers are the one that is recorded, or else those of the machine's name in its cluster.
func (s *site) servers(ctx context.Context) ([]nova.Server, error) {
	if s.id != "" {
		one, err := s.cloud.Server(ctx, s.id)
		switch {
		case nova.Gone(err), err == nil && !one.Has(s.tags):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []nova.Server{one}, nil
	}
	return s.cloud.Servers(ctx, s.name, s.tags)
}

func (s *site) remove(ctx context.Context, id string) error {
	_, err := s.cloud.Call(ctx, http.MethodDelete, s.cloud.Services["compute"]+"/servers/"+id, nil, nil)
	if nova.Gone(err) {
		return nil
	}
	return err
}
