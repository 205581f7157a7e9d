// Package installation is the program installation-check. It reports whether what was installed works: the API server serves the APIs, and each Deployment
// has as many available pods of its present template as it asks for. `helm test` runs it as a pod.
package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// Check is what has to be there.
type Check struct {
	Namespace   string
	Deployments []string
	// APIs are groups with their versions, as machine.sapcloud.io/v1alpha1.
	APIs []string
	// Timeout is how long Run waits, Interval the time between two looks.
	Timeout, Interval time.Duration
}

// Command returns the program as a command.
func Command() *cobra.Command {
	c := Check{Interval: 2 * time.Second}
	var kubeconfig string
	command := &cobra.Command{
		Use:           "installation-check",
		Short:         "Wait until the Deployments of an installation are available and its APIs are served",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("create a client: %w", err)
			}
			return c.Run(command.Context(), client, clock.RealClock{}, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; empty: this pod's")
	flags.StringVar(&c.Namespace, "namespace", "millwright-system", "namespace of the Deployments")
	flags.StringSliceVar(&c.Deployments, "deployments", nil, "names of the Deployments that must be available")
	flags.StringSliceVar(&c.APIs, "apis", nil, "groups and versions that must be served, for example machine.sapcloud.io/v1alpha1")
	flags.DurationVar(&c.Timeout, "timeout", 2*time.Minute, "how long the check waits")
	version.AddTo(command)
	return command
}

// Run waits until all is there. Its error names all that is not.
func (c Check) Run(ctx context.Context, client kubernetes.Interface, clock clock.Clock, out io.Writer) error {
	deadline := clock.Now().Add(c.Timeout)
	for {
		err := c.look(ctx, client)
		if err == nil {
			_, err = fmt.Fprintf(out, "available: %s\nserved: %s\n", strings.Join(c.Deployments, ", "), strings.Join(c.APIs, ", "))
			return err
		}
		if !clock.Now().Before(deadline) {
			return fmt.Errorf("after %s: %w", c.Timeout, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-clock.After(c.Interval):
		}
	}
}

// look joins what is missing at present.
func (c Check) look(ctx context.Context, client kubernetes.Interface) error {
	var missing []error
	for _, name := range c.Deployments {
		d, err := client.AppsV1().Deployments(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			err = available(d)
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("deployment %s/%s: %w", c.Namespace, name, err))
		}
	}
	for _, api := range c.APIs {
		list, err := client.Discovery().ServerResourcesForGroupVersion(api)
		if err == nil && len(list.APIResources) == 0 {
			err = errors.New("it has no resources")
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("API %s: %w", api, err))
		}
	}
	return errors.Join(missing...)
}

// available returns an error unless every pod that the Deployment asks for is of its present template, and available.
func available(d *appsv1.Deployment) error {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return errors.New("its controller has not seen its last change")
	}
	if s.UpdatedReplicas == want && s.AvailableReplicas == want && s.Replicas == want {
		return nil
	}
	reason := ""
	if i := slices.IndexFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentProgressing }); i >= 0 {
		reason = ": " + s.Conditions[i].Message
	}
	return fmt.Errorf("%d pods wanted, %d updated, %d available, %d in all%s", want, s.UpdatedReplicas, s.AvailableReplicas, s.Replicas, reason)
}
