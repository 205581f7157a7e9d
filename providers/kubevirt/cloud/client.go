package cloud

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	kubevirt "kubevirt.io/api/core/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// The kinds of objects that a machine consists of, besides secrets.
var (
	virtualMachines = kubeapi.Kind[kubevirt.VirtualMachine]{Path: "/apis/kubevirt.io/v1", Resource: "virtualmachines", Name: "VirtualMachine"}
	instances       = kubeapi.Kind[kubevirt.VirtualMachineInstance]{
		Path: "/apis/kubevirt.io/v1", Resource: "virtualmachineinstances", Name: "VirtualMachineInstance",
	}
	dataVolumes = kubeapi.Kind[cdi.DataVolume]{Path: "/apis/cdi.kubevirt.io/v1beta1", Resource: "datavolumes", Name: "DataVolume"}
	claims      = kubeapi.Kind[corev1.PersistentVolumeClaim]{Path: "/api/v1", Resource: "persistentvolumeclaims", Name: "PersistentVolumeClaim"}
)

// connect returns the client for the class's credentials.
func (s *session) connect(ctx context.Context) (*kubeapi.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.provider.clients.Get(ctx, s.key(), func(context.Context) (*kubeapi.Client, error) {
		l, err := kubeapi.LoginOf(s.class.Credentials)
		if err != nil {
			return nil, err
		}
		return kubeapi.NewClient(l, words)
	})
}

func (s *session) key() provider.ClientKey {
	return provider.KeyOf(map[string][]byte{kubeapi.KubeconfigKey: s.class.Credentials[kubeapi.KubeconfigKey]}, "", "")
}

// observe drops the client if the error is Denied.
func (s *session) observe(err error) error { return s.provider.clients.Observe(s.key(), err) }
