package cloud

import (
	"context"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// host is a BareMetalHost with a field that the imported types lack. The provider only writes patches, so
// that further unknown fields stay.
type host struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		metal3.BareMetalHostSpec `json:",inline"`
		// DisablePowerOff: the host must never be powered off, since it could not be powered on again.
		DisablePowerOff bool `json:"disablePowerOff,omitempty"`
	} `json:"spec"`
	Status metal3.BareMetalHostStatus `json:"status"`
}

var hosts = kubeapi.Kind[host]{Path: "/apis/metal3.io/v1alpha1", Resource: "baremetalhosts", Name: "BareMetalHost"}

// words are the words of Metal3 for errors.
var words = kubeapi.Words{Missing: "is Metal3 installed there?", Field: specField}

// fields maps the fields of hosts to those of specs.
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

// connect returns the client for the class's credentials or, without credentials, for the cluster of the
// machines.
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

// observe drops the client if the error is Denied.
func (s *session) observe(err error) error { return s.provider.clients.Observe(s.key(), err) }

// listed is the namespace in which hosts are listed; empty: all.
func (c call) listed() string {
	if !c.here || c.provider.config.Namespace == nil {
		return c.client.Namespace
	}
	return c.provider.config.Namespace(c.class.API)
}

// of is the namespace of a machine's hosts.
func (c call) of(ref provider.Ref) string {
	if c.here && ref.Namespace != "" {
		return ref.Namespace
	}
	return c.listed()
}
