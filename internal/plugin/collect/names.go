package collect

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds returns the kinds about which a user may ask, in lower case and sorted, each followed by ending.
func Kinds(ending string) (out []string) {
	for _, k := range kinds {
		out = append(out, strings.ToLower(k)+ending)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Names returns the names of all objects of q's kind in q's namespace, sorted. It omits kinds that cannot be read.
func Names(ctx context.Context, c Clusters, q Question) (out []string) {
	if q.Kind == "Namespace" {
		return Namespaces(ctx, c.Control)
	}
	for _, k := range kindsOf(q) {
		list, from, in := k.list(), c.Control, q.Namespace
		if k.core() {
			from, in = c.Target, ""
		}
		if err := from.List(ctx, list, client.InNamespace(in)); err != nil {
			continue
		}
		for _, o := range items(list) {
			out = append(out, o.GetName())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Namespaces returns the names of the namespaces, or nil if they cannot be read.
func Namespaces(ctx context.Context, c client.Reader) (out []string) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "NamespaceList"})
	if err := c.List(ctx, &list); err != nil {
		return nil
	}
	for _, o := range list.Items {
		out = append(out, o.Name)
	}
	return out
}
