package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	strictjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/preflight"
)

// Definitions reads the CRDs of an API; an empty name means all APIs. gaps has a text about each CRD that could not
// be read.
func Definitions(ctx context.Context, c client.Reader, api string) (out []preflight.Definition, gaps []string) {
	ours, err := config.CRDs()
	if err != nil {
		return nil, []string{err.Error()}
	}
	installed := map[string]bool{}
	for _, crd := range ours {
		a, known := apis.Of(crd.Spec.Group)
		if !known || api != "" && api != a.Name {
			continue
		}
		d := preflight.Definition{Name: crd.Name, Wants: a.Version, Needed: slices.ContainsFunc(a.Needed(), func(k apis.Kind) bool { return k.Name == crd.Spec.Names.Kind })}
		theirs := &unstructured.Unstructured{}
		theirs.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		switch err := c.Get(ctx, client.ObjectKey{Name: crd.Name}, theirs); {
		case apierrors.IsNotFound(err):
		case err != nil:
			gaps = append(gaps, "the CRD "+crd.Name+": "+err.Error())
			continue
		default:
			d.Present, d.Serves = true, servedBy(theirs)
			installed[crd.Spec.Group] = true
		}
		out = append(out, d)
	}
	// If no CRD of an API is installed, the takeover does not need that API.
	for i := range out {
		_, group, _ := strings.Cut(out[i].Name, ".")
		out[i].Needed = out[i].Needed && installed[group]
	}
	return out, gaps
}

func servedBy(crd *unstructured.Unstructured) (out []string) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			out = append(out, fmt.Sprint(v["name"]))
		}
	}
	return out
}

// others describes the original programs by the names of their leases, if such a name does not have an API. These
// programs belong to the API for which Millwright approves certificate requests.
var others = map[string]string{
	"machine-api-operator":            "a machine-api-operator, which would start its controllers again,",
	"cluster-machine-approver-leader": "a cluster-machine-approver, which would approve certificates beside Millwright,",
}

// Leases reads the leases whose holders may act on machines of an API; an empty name means all APIs. gaps has the
// error if leases cannot be read.
func Leases(ctx context.Context, c client.Reader, api string) (out []preflight.Lease, gaps []string) {
	var list coordinationv1.LeaseList
	if err := c.List(ctx, &list); err != nil {
		return nil, []string{"who leads (leases): " + err.Error()}
	}
	for _, l := range list.Items {
		leads := leader(l.Name, api)
		if leads == "" {
			continue
		}
		is := preflight.Lease{Leads: leads}
		is.Where, is.Holder = l.Namespace+"/"+l.Name, ptr.Deref(l.Spec.HolderIdentity, "")
		is.Lasts = time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second
		if l.Spec.RenewTime != nil {
			is.Renewed = l.Spec.RenewTime.Time
		}
		out = append(out, is)
	}
	return out, nil
}

// leader describes the program that uses a lease with this name. It returns "" if the program does not act on
// machines of the API.
func leader(lease, api string) string {
	for _, a := range apis.All {
		switch {
		case api != "" && api != a.Name:
		case a.Has("MachineHealthCheck") && lease == a.CheckLease():
			return "a controller of health checks of " + a.Name
		case a.Approves && lease == a.LinkLease():
			return "a node link controller of " + a.Name
		case a.Approves && others[lease] != "":
			return others[lease]
		case lease == a.SetLease():
			return "a controller of sets of " + a.Name
		case a.LeadsMachines(lease):
			return "a machine controller of " + a.Name
		}
	}
	return ""
}

// places has the paths at which objects of both APIs name their infrastructure.
var places = [][]string{
	{"provider"}, {"spec", "providerSpec", "value", "kind"}, {"spec", "template", "spec", "providerSpec", "value", "kind"}, {"providerSpec", "kind"},
}

// authorities has the paths at which objects name the API that manages them.
var authorities = [][]string{
	{"status", "authoritativeAPI"}, {"spec", "authoritativeAPI"}, {"spec", "template", "spec", "authoritativeAPI"},
}

// inCharge is the value with which an object belongs to the machine API, and so to Millwright.
const inCharge = "MachineAPI"

// Raw returns the facts about the objects of a kind that the Go types do not have. The keys have the namespace and
// the name.
func Raw(ctx context.Context, c client.Reader, a apis.API, k apis.Kind, namespace string) (map[client.ObjectKey]preflight.Object, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: a.Name, Version: a.Version, Kind: k.Name + "List"})
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	out := map[client.ObjectKey]preflight.Object{}
	for i := range list.Items {
		o := &list.Items[i]
		out[client.ObjectKeyFromObject(o)] = preflight.Object{Infrastructure: textAt(o, places, ""), Unknown: unknownFields(o, k.New()), Authority: textAt(o, authorities, inCharge)}
	}
	return out, nil
}

// textAt returns the first text at one of the paths that is neither empty nor usual, or "".
func textAt(o *unstructured.Unstructured, paths [][]string, usual string) string {
	for _, path := range paths {
		if text, _, _ := unstructured.NestedString(o.Object, path...); text != "" && text != usual {
			return text
		}
	}
	return ""
}

// index matches the index of a list in a path.
var index = regexp.MustCompile(`\[\d+\]`)

// unknownFields returns the paths of the fields that the type of into does not have. It omits metadata, and the
// status, which controllers write again.
func unknownFields(o *unstructured.Unstructured, into client.Object) (out []string) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	faults, err := strictjson.UnmarshalStrict(raw, into)
	if err != nil {
		return []string{err.Error()}
	}
	for _, f := range faults {
		path := f.Error()
		if field, ok := errors.AsType[strictjson.FieldError](f); ok {
			path = index.ReplaceAllString(field.FieldPath(), "[]")
		}
		if !strings.HasPrefix(path, "status.") && !strings.HasPrefix(path, "metadata.") {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Roles returns the names of the roles of Millwright's programs.
func Roles() (out []string) {
	files, err := fs.Glob(config.FS, "rbac/*/role.yaml")
	if err != nil {
		return nil // Glob fails only for an invalid pattern
	}
	for _, file := range files {
		out = append(out, strings.Split(file, "/")[1])
	}
	return out
}

// Account is a service account and the role of Millwright whose rights the account needs.
type Account struct {
	Role, Namespace, Name string
	// Control is the namespace of the machines. Denied ignores the API groups in Skip.
	Control string
	Skip    []string
}

// Denied returns the rights of the role that the account lacks. It fails if the role does not exist, or if a
// SubjectAccessReview cannot be created.
func Denied(ctx context.Context, c client.Client, a Account) (out preflight.Lack, err error) {
	out = preflight.Lack{Account: a.Namespace + "/" + a.Name, Role: a.Role}
	raw, err := config.FS.ReadFile("rbac/" + a.Role + "/role.yaml")
	if err != nil {
		return out, fmt.Errorf("there is no role %q: want %s", a.Role, strings.Join(Roles(), ", "))
	}
	for _, doc := range strings.Split(string(raw), "\n---\n") {
		var r rbacv1.Role // a ClusterRole has the same fields except the namespace
		if err := yaml.Unmarshal([]byte(doc), &r); err != nil {
			return out, err
		}
		if r.Namespace != "" && r.Namespace != metav1.NamespaceSystem {
			r.Namespace = a.Control
		}
		for _, rule := range r.Rules {
			lacks, err := lacking(ctx, c, a, rule, r.Namespace)
			if err != nil {
				return out, err
			}
			out.Rights = append(out.Rights, lacks...)
		}
	}
	slices.Sort(out.Rights)
	out.Rights = slices.Compact(out.Rights)
	return out, nil
}

// lacking returns the rights of a rule that the account lacks.
func lacking(ctx context.Context, c client.Client, a Account, rule rbacv1.PolicyRule, namespace string) (out []string, err error) {
	for _, group := range rule.APIGroups {
		if slices.Contains(a.Skip, group) {
			continue
		}
		for _, resource := range rule.Resources {
			var verbs []string
			for _, verb := range rule.Verbs {
				kind, sub, _ := strings.Cut(resource, "/")
				asked := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: "system:serviceaccount:" + a.Namespace + ":" + a.Name, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"},
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: kind, Subresource: sub, Name: strings.Join(rule.ResourceNames[:min(1, len(rule.ResourceNames))], "")},
				}}
				if err := c.Create(ctx, asked); err != nil {
					return nil, fmt.Errorf("ask for rights: %w", err)
				}
				if !asked.Status.Allowed {
					verbs = append(verbs, verb)
				}
			}
			if len(verbs) > 0 {
				out = append(out, strings.Join(verbs, ", ")+" "+strings.TrimSuffix(resource+"."+group, ".")+in(namespace))
			}
		}
	}
	return out, nil
}

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in " + namespace
}
