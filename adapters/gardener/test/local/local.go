// Package local builds a driver that others wrote against the adapter: Gardener's for machines that are pods, as it
// is published, without a changed line.
package local

import (
	"github.com/gardener/gardener/pkg/provider-local/machine-provider/local"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// New is the driver on the cluster whose pods are its machines. Its own main makes it in the same way.
func New(control *rest.Config) (driver.Driver, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, machinev1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	c, err := client.New(control, client.Options{Scheme: s})
	if err != nil {
		return nil, err
	}
	return local.NewDriver(c), nil
}
