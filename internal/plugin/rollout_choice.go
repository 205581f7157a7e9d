package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// choice has the flags that select deployments by labels or manifests.
type choice struct {
	files    genericclioptions.FileNameFlags
	selector string
}

func newChoice() *choice {
	return &choice{files: genericclioptions.FileNameFlags{
		Usage: "file, folder or URL with manifests of the machine deployments; other objects in them are ignored", Filenames: &[]string{}, Kustomize: new(string), Recursive: new(bool),
	}}
}

func (c *choice) addFlags(to *cobra.Command) {
	c.files.AddFlags(to.Flags())
	to.Flags().StringVarP(&c.selector, "selector", "l", "", "label selector of the machine deployments: pool=a, pool!=a, 'pool in (a,b)'")
}

// chosen returns the deployments on which a command acts, and an error for each deployment that it cannot find.
func (r *steering) chosen(ctx context.Context, k client.Client, home string, args []string) (found []client.Object, failed []error) {
	selector, err := labels.Parse(r.selector)
	if err != nil {
		return nil, []error{fmt.Errorf("--selector: %w", err)}
	}
	var questions []collect.Question
	switch byFile := len(*r.files.Filenames) > 0 || *r.files.Kustomize != ""; {
	case byFile && len(args) > 0:
		return nil, []error{errors.New("-f and -k select the machine deployments: omit their names")}
	case byFile:
		questions, err = r.inFiles()
	case r.selector != "":
		return r.labelled(ctx, k, home, args, selector)
	default:
		questions, err = r.questions(args)
	}
	if err != nil {
		return nil, []error{err}
	}
	for _, q := range questions {
		o, err := r.lookUp(ctx, k, home, q)
		switch {
		case err != nil:
			failed = append(failed, err)
		case selector.Matches(labels.Set(o.GetLabels())):
			found = append(found, o)
		}
	}
	return found, failed
}

// labelled returns the deployments in one namespace whose labels match the selector: "md -l pool=a".
func (r *steering) labelled(ctx context.Context, k client.Client, home string, args []string, selector labels.Selector) (found []client.Object, failed []error) {
	if len(args) != 1 || strings.Contains(args[0], "/") {
		return nil, []error{errors.New("-l requires a kind without a name: machinedeployment -l " + r.selector)}
	}
	all, err := r.questions([]string{args[0] + "/any"})
	if err != nil {
		return nil, []error{err}
	}
	q := all[0]
	for _, a := range apis.All {
		for _, kind := range a.Kinds {
			if kind.Name != deploymentKind || q.API != "" && q.API != a.Name {
				continue
			}
			list := kind.List()
			err := k.List(ctx, list, client.InNamespace(r.place(home)), client.MatchingLabelsSelector{Selector: selector})
			if err != nil && !apimeta.IsNoMatchError(err) {
				failed = append(failed, fmt.Errorf("list machinedeployments.%s: %w", a.Name, err))
				continue
			}
			for o := range dialect.Items[client.Object](list) {
				found = append(found, o)
			}
		}
	}
	return found, failed
}

// place returns the namespace in which a command searches: the namespace of -n, or home without -n.
func (r *steering) place(home string) string {
	if *r.config.Namespace != "" {
		return *r.config.Namespace
	}
	return home
}

// inFiles returns the machine deployments in the manifests. It uses only their names and namespaces, because the
// command acts on the stored objects.
func (r *steering) inFiles() (out []collect.Question, err error) {
	options := r.files.ToOptions()
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &options).Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	for _, info := range infos {
		kind := info.Object.GetObjectKind().GroupVersionKind()
		if kind.Kind != deploymentKind {
			continue
		}
		q, err := r.question([]string{strings.ToLower(kind.Kind) + "." + kind.Group, info.Name})
		if err != nil {
			return nil, err
		}
		if q.Namespace != "" && info.Namespace != "" && q.Namespace != info.Namespace {
			return nil, fmt.Errorf("machinedeployment/%s: the manifest has namespace %s, but -n is %s", info.Name, info.Namespace, q.Namespace)
		}
		if info.Namespace != "" {
			q.Namespace = info.Namespace
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, errors.New("the manifests contain no machine deployment")
	}
	return out, nil
}
