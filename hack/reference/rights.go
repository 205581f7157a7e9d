package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/millwright-dev/millwright/config"
)

// program is the program whose rights are in a folder of config/rbac.
type program struct {
	// dir is the folder. about is the introduction.
	dir, title, about string
	// also are folders of code with markers for rights, as in hack/generate.
	also []string
}

func programs() []program {
	return []program{
		{"machine-controller", "machine-controller-*provider*", "Of account `machine-controller` in `millwright-system`.", []string{"internal/controller/csr", "internal/controller/postmortem"}},
		{"machine-controller-manager", "machine-controller-manager", "Of account `machine-controller-manager` in `millwright-system`, and of `machineset-controller` besides its own.", nil},
		{"machineset-controller", "machineset-controller", "Of account `machineset-controller` in `millwright-system`, besides those of machine-controller-manager.", nil},
		{"machine-api-operator", "machine-api-operator", "Of account `machine-api-operator` in `openshift-machine-api`.", nil},
		{"machine-api-controllers", "Operands of machine-api-operator", "Of account `machine-api-controllers` in `openshift-machine-api`, under which the machine controller, machineset-controller, nodelink-controller and machine-healthcheck run in one pod.", nil},
	}
}

// reasons are the reasons of rights without a comment: of manual files in config/rbac, and of markers beside the code that uses
// the rights.
var reasons = map[string]string{
	"leader_election.yaml":           "Leader election.",
	"role_external_remediation.yaml": "Remediation templates and requests of other controllers: no rights, until the cluster has a ClusterRole with the label `millwright.dev/aggregate-to-external-remediation: \"true\"`, whose rules are copied. See [external-remediation.md](../external-remediation.md).",
	"internal/controller/csr":        "The certificate requests of kubelets, the existing nodes, the bootstrap token of a request, and events about requests that are not approved.",
	"internal/controller/postmortem": "Evidence of failed machines, and the events in it.",
}

// right is a right for one resource, or URL, in one place.
type right struct{ where, resource, names, verbs string }

// reason is the reason for some rights.
type reason struct {
	text   string
	rights []right
}

const rightsHead = `# Rights

The rights of each program in a cluster, and their reasons. They are in the roles of ` + "`config/rbac`" + `, which ` + "`config/default`" + `, the chart and the operator install. A
right without a namespace applies to the whole cluster. [security.md](../security.md) says what an attacker could do with these rights.

If possible, a program works without a missing right, and logs it one time.
`

// rightsPage returns the page of rights.
func rightsPage(root string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, mark, "config/rbac")
	b.WriteString(rightsHead)
	for _, p := range programs() {
		all, err := p.reasons(root)
		if err != nil {
			return "", fmt.Errorf("rights of %s: %w", p.dir, err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", p.title, p.about)
		head(&b, "why", "where", "what", "only", "may")
		for _, r := range all {
			why := r.text
			for _, one := range together(r.rights) {
				row(&b, why, one.where, one.resource, one.names, one.verbs)
				why = ""
			}
			if len(r.rights) == 0 {
				row(&b, why, "", "", "", "")
			}
		}
	}
	b.WriteString(rightsFoot)
	return b.String(), nil
}

// together joins consecutive rights that differ only in their resource.
func together(rights []right) (out []right) {
	for _, r := range rights {
		r.resource = code(r.resource)
		n := len(out)
		if n > 0 && out[n-1] == (right{r.where, out[n-1].resource, r.names, r.verbs}) {
			out[n-1].resource += ", " + r.resource
			continue
		}
		out = append(out, r)
	}
	return out
}

const rightsFoot = `
## Clouds

With the machine controller of a cloud, the account ` + "`machine-controller`" + ` may get ` + "`Infrastructure/cluster`" + `, and the ConfigMaps
` + "`kube-cloud-config`" + ` and ` + "`cloud-provider-config`" + ` of every namespace: outside of OpenShift the API server must answer that they do not exist
(` + "`config/manager/machine-controller/rights`" + `). The rights for claims of addresses on vSphere are in ` + "`config/rbac/vsphere`" + `.
Apply them if you use [static addresses](../providers/vsphere.md#static-addresses).

## Disruption budgets

The manifest ` + "`config/disruption-budgets/rights.yaml`" + ` is optional, like the [kind](../disruption-budgets.md). With it, machine controllers may get and list
MachineDisruptionBudgets of the cluster and patch their status, and the account ` + "`machine-controller`" + ` may get MachineSets and MachineDeployments of the control namespace.

## Control plane machine sets

The manifest ` + "`config/control-plane-machine-set/rights.yaml`" + ` is optional, like the [program](../controlplanemachineset.md). With it, the account ` + "`control-plane-machine-set-operator`" + ` may
manage ControlPlaneMachineSets and Machines of the control namespace, read nodes, Infrastructure and ClusterOperators, write the status of ClusterOperators, and write the CA of its
webhook.

## termination-handler

The account ` + "`machine-api-termination-handler`" + ` of the DaemonSet has the rights that the cluster grants it: to get its node, and to patch the status of the node.
See [termination-handler.md](../termination-handler.md).

## People

With ` + "`config/rbac/aggregate.yaml`" + `, users who may view a namespace may view its machines, sets, deployments, classes and checks. Users who may edit a namespace
may change and scale them. Accounts with the ClusterRole ` + "`millwright-metrics-reader`" + ` may read ` + "`/metrics`" + `.
`

// reasons returns the reasons of a program: from the markers beside code, and from manual roles.
func (p program) reasons(root string) (out []reason, err error) {
	for _, dir := range append([]string{filepath.Join("config", "rbac", p.dir)}, p.also...) {
		listed, err := listedIn(root, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, listed...)
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "rbac", p.dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for roles: %w", err)
	}
	for _, file := range files {
		if filepath.Base(file) == "role.yaml" { // generated from the markers
			continue
		}
		rights, roles, err := rolesOf(file)
		if err != nil {
			return nil, err
		}
		if roles > 0 {
			out = append(out, reason{reasons[filepath.Base(file)], rights})
		}
	}
	return out, nil
}

const marker = "+kubebuilder:rbac:"

// listedIn returns the markers of a folder, by the comments above them.
func listedIn(root, dir string) (out []reason, err error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("looking for markers: %w", err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parsing: %w", err)
		}
		for _, group := range parsed.Comments {
			if r := listed(group); len(r.rights) > 0 {
				r.text = cmp.Or(r.text, reasons[filepath.ToSlash(dir)])
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// listed returns the rights of one comment, and its words.
func listed(group *ast.CommentGroup) (r reason) {
	var text []string
	for _, c := range group.List {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		list, is := strings.CutPrefix(line, marker)
		if !is {
			text = append(text, line)
			continue
		}
		r.rights = append(r.rights, rightsOf(list)...)
	}
	r.text = cell(strings.Join(text, " "))
	return r
}

// rightsOf returns the rights of one marker: groups="",namespace=kube-system,resources=secrets,verbs=get;create.
func rightsOf(list string) (out []right) {
	has := map[string][]string{}
	for part := range strings.SplitSeq(list, ",") {
		name, values, _ := strings.Cut(part, "=")
		for v := range strings.SplitSeq(values, ";") {
			has[name] = append(has[name], strings.Trim(v, `"`))
		}
	}
	return rule(cmp.Or(strings.Join(has["namespace"], ""), everywhere), rbacv1.PolicyRule{
		APIGroups: has["groups"], Resources: has["resources"], ResourceNames: has["resourceNames"], Verbs: has["verbs"],
	})
}

const everywhere = "the cluster"

// rule returns a rule as rights, one for each resource.
func rule(where string, r rbacv1.PolicyRule) (out []right) {
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			if group != "" {
				base, sub, has := strings.Cut(resource, "/")
				resource = base + "." + group
				if has {
					resource += "/" + sub
				}
			}
			out = append(out, right{where, resource, codes(r.ResourceNames), strings.Join(slices.Sorted(slices.Values(r.Verbs)), ", ")})
		}
	}
	return out
}

func codes(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, code(n))
	}
	return strings.Join(out, ", ")
}

// rolesOf returns the rights of the roles in a file, and the number of roles.
func rolesOf(file string) (out []right, roles int, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, fmt.Errorf("reading roles: %w", err)
	}
	all, err := config.RolesIn(raw)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	for _, role := range all {
		for _, r := range role.Rules {
			out = append(out, rule(cmp.Or(role.Namespace, everywhere), r)...)
		}
	}
	return out, len(all), nil
}
