// Package connect connects commands to the clusters that kubectl's flags name.
package connect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// noServer is the server that kubectl uses if no cluster is configured.
const noServer = "localhost:8080"

// qps limits the requests of one command per second. burst limits the requests of a short burst.
const (
	qps   = 50
	burst = 100
)

// Scheme returns a scheme with the types of all objects that commands read: those of all APIs, of Kubernetes, and Millwright's own
// kind.
func Scheme() *runtime.Scheme {
	s := run.Scheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err) // two of our own types collide
	}
	return s
}

// Config returns the connection that the flags or the environment name. It fails if they name no cluster.
func Config(flags genericclioptions.RESTClientGetter) (*rest.Config, error) {
	c, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if raw, err := flags.ToRawKubeConfigLoader().RawConfig(); err == nil && len(raw.Clusters) == 0 && strings.HasSuffix(c.Host, noServer) {
		return nil, errors.New("neither --kubeconfig nor the variable KUBECONFIG is set to a file with a cluster")
	}
	c.QPS, c.Burst = qps, burst
	return c, nil
}

// File returns flags that name only the kubeconfig at path.
func File(path string) *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig = &path
	return flags
}

// Both returns the connections to the cluster that the flags name and to the target cluster. targetKubeconfig is the
// value of --target-kubeconfig. If it is empty, target is nil: the machines join the first cluster.
func Both(flags genericclioptions.RESTClientGetter, targetKubeconfig string) (control, target *rest.Config, err error) {
	if control, err = Config(flags); err != nil {
		return nil, nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if targetKubeconfig == "" {
		return control, nil, nil
	}
	if target, err = Config(File(targetKubeconfig)); err != nil {
		return nil, nil, fmt.Errorf("--target-kubeconfig: %w", err)
	}
	return control, target, nil
}

// Readers returns readers of the clusters of [Both], without a cache. Without --target-kubeconfig, target is control.
func Readers(flags genericclioptions.RESTClientGetter, targetKubeconfig string) (control, target client.Reader, err error) {
	c, t, err := Both(flags, targetKubeconfig)
	if err != nil {
		return nil, nil, err
	}
	if control, err = client.New(c, client.Options{Scheme: Scheme()}); err != nil {
		return nil, nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if t == nil {
		return control, control, nil
	}
	if target, err = client.New(t, client.Options{Scheme: Scheme()}); err != nil {
		return nil, nil, fmt.Errorf("--target-kubeconfig: %w", err)
	}
	return control, target, nil
}

// ClusterName returns the kubeconfig's name for the cluster, or "" if the kubeconfig has no name.
func ClusterName(flags *genericclioptions.ConfigFlags) string {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	c := raw.Contexts[cmp.Or(*flags.Context, raw.CurrentContext)]
	if c == nil {
		return *flags.ClusterName
	}
	return cmp.Or(*flags.ClusterName, c.Cluster)
}
