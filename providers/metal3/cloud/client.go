package cloud

import (
	"context"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// host is a BareMetalHost, with the field that its types do not have yet. Nothing but patches is written, so that the fields which they do
// not have at all stay.
type host struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		metal3.BareMetalHostSpec `json:",inline"`
		// DisablePowerOff: it is never switched off, since nothing could switch it on again.
		DisablePowerOff bool `json:"disablePowerOff,omitempty"`
	} `json:"spec"`
	Status metal3.BareMetalHostStatus `json:"status"`
}

var hosts = kubeapi.Kind[host]{Path: "/apis/metal3.io/v1alpha1", Resource: "baremetalhosts", Name: "BareMetalHost"}

// words are those of Metal3.
var words = kubeapi.Words{Missing: "is Metal3 installed there?", Field: specField}

// fields are those of hosts that a field of specs decides.
var fields = map[string]string{
	"spec.image": "image", "spec.image.url": "image.url", "spec.image.checksum": "image.checksum",
	"spec.customDeploy": "customDeploy", "spec.customDeploy.method": "customDeploy.method", "spec.userData": "userData",
}

func specField(path string) string {
	if f, ok := fields[path]; ok {
		return f
	}
	return path
}

// connect is the client for the class's credentials or, without any, for the cluster of the machines.
func (s *session) connect(ctx context.Context) (*kubeapi.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.provider.clients.Get(ctx, s.key(), func(context.Context) (*kubeapi.Client, error) {
		l := kubeapi.Login{Config: s.provider.config.Control}
		if !s.here || l.Config == nil {
			var err error
			if l, err = kubeapi.LoginOf(s.class.Credentials); err != nil {
				return nil, err
			}
		}
		return kubeapi.NewClient(l, words)
	})
}

func (s *session) key() provider.ClientKey {
	return provider.KeyOf(map[string][]byte{kubeapi.KubeconfigKey: s.class.Credentials[kubeapi.KubeconfigKey]}, "", "")
}

// observe drops the client where it was denied.
func (s *session) observe(err error) error { return s.provider.clients.Observe(s.key(), err) }

// listed is the namespace of which hosts are listed; empty: all.
func (e errand) listed() string {
	if !e.here || e.provider.config.Namespace == nil {
		return e.c.Namespace
	}
	return e.provider.config.Namespace(e.class.API)
}

// of is the namespace of a machine's hosts.
func (e errand) of(ref provider.Ref) string {
	if e.here && ref.Namespace != "" {
		return ref.Namespace
	}
	return e.listed()
}
