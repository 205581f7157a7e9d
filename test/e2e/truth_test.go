package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// clusters are the ownership scopes of the instances, by API.
var clusters = map[string]string{provider.OpenShift: "crash", provider.Gardener: fleet.GardenerNamespace}

// truth compares what the API says with what is really there.
type truth struct {
	*fleet.Fleet
	console kubemark.Console
}

func truthOf(f *fleet.Fleet) (truth, error) {
	p, err := kubemark.New(kubemark.Config{Dir: fleet.CloudDir(f.Dir)})
	if err != nil {
		return truth{}, fmt.Errorf("look at the infrastructure: %w", err)
	}
	return truth{f, p.Console()}, nil
}

// settled says what is not as it should be once nobody interferes any more:
// replicas of each API's machines, each with one instance and one node, and
// nothing else anywhere.
func (w truth) settled(ctx context.Context, replicas int) (missing string, err error) {
	all, err := w.Census(ctx)
	if err != nil {
		return "", err
	}
	uids, nodes := map[string]map[string]bool{}, map[string]bool{}
	for api := range clusters {
		uids[api] = map[string]bool{}
	}
	for _, m := range all {
		if !m.Ready() {
			return fmt.Sprintf("%s %s is %s, deleted %t, its node %s Ready=%s: %s", m.API, m.Name, m.Phase, m.Deleted, m.Node, m.NodeReady, m.Why), nil
		}
		uids[m.API][m.UID], nodes[m.Node] = true, true
	}
	for api, of := range uids {
		if len(of) != replicas {
			return fmt.Sprintf("%s has %d machines, not %d", api, len(of), replicas), nil
		}
		if missing, err := w.instances(ctx, clusters[api], of); missing != "" || err != nil {
			return missing, err
		}
	}
	if missing, err := w.nodes(ctx, nodes); missing != "" || err != nil {
		return missing, err
	}
	return w.tokens(ctx)
}

// instances says which machine has none or several, which instance has no
// machine, and whether disks and network interfaces are left over.
func (w truth) instances(ctx context.Context, cluster string, machines map[string]bool) (missing string, err error) {
	instances, err := w.console.Instances(ctx, cluster)
	if err != nil {
		return "", err
	}
	seen := map[string]bool{}
	for _, i := range instances {
		if !machines[i.UID] {
			return fmt.Sprintf("instance %s (%s) of %s has no machine", i.ID, i.RawState, i.Name), nil
		}
		if seen[i.UID] {
			return "machine " + i.Name + " has several instances", nil
		}
		seen[i.UID] = true
	}
	if len(seen) != len(machines) {
		return fmt.Sprintf("%d machines of %s have no instance", len(machines)-len(seen), cluster), nil
	}
	dependants, err := w.console.Dependants(cluster)
	if err == nil && dependants != 2*len(instances) {
		return fmt.Sprintf("%d instances of %s have %d disks and network interfaces", len(instances), cluster, dependants), nil
	}
	return "", err
}

func (w truth) nodes(ctx context.Context, want map[string]bool) (missing string, err error) {
	var list corev1.NodeList
	if err := w.Client.List(ctx, &list); err != nil {
		return "", err
	}
	have := map[string]bool{}
	for _, n := range list.Items {
		have[n.Name] = true
	}
	if !maps.Equal(have, want) {
		return fmt.Sprintf("nodes are %v, of machines are %v", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want))), nil
	}
	return "", nil
}

// tokens says which bootstrap token is left: all machines have joined or are
// gone, so none is needed any more.
func (w truth) tokens(ctx context.Context) (left string, err error) {
	var list corev1.SecretList
	if err := w.Client.List(ctx, &list, client.InNamespace(metav1.NamespaceSystem)); err != nil {
		return "", err
	}
	for _, s := range list.Items {
		if s.Type != corev1.SecretTypeBootstrapToken {
			continue
		}
		token, err := bootstrap.Read(&s)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("bootstrap token %s of machine %s is left", token.ID, token.Owner.Key), nil
	}
	return "", nil
}

// twins names machines that have more than one instance that is not on its way
// out: there must be none at any time.
func (w truth) twins(ctx context.Context) ([]string, error) {
	var out []string
	for _, cluster := range clusters {
		instances, err := w.console.Instances(ctx, cluster)
		if err != nil {
			return nil, err
		}
		seen := map[string]string{}
		for _, i := range instances {
			if i.State == provider.Stopping {
				continue
			}
			if other := seen[i.UID]; other != "" {
				out = append(out, strings.Join([]string{i.Name, other, i.ID}, " "))
			}
			seen[i.UID] = i.ID
		}
	}
	return out, nil
}
