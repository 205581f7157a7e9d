package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// identities are those of the control plane which holds the machines, or of one namespace of it. No two clusters share one.
type identities struct {
	// owner is written on instances; empty where the control plane has no identity that may be read. Then instances are
	// made without an owner, and orphans are only reported.
	owner string
	// also are identities that were, or may have been, written before: an instance with one of these is ours, too.
	also []string
	// lacks says what keeps the control plane from having one; empty when it has.
	lacks string
}

// The ConfigMap that is the identity of a control plane whose namespace kube-system may not be read, as by the roles of the
// originals. The identity is the ConfigMap's UID: nobody writes it, a copy in another cluster has another, and as a new
// ConfigMap has another, too, the loss of it makes us disown instances, and never take those of others.
const (
	identityName = "millwright-identity"
	// identityOfKey has the UID of the ConfigMap for which the rest of its data was written: of a copy the rest is not believed.
	identityOfKey = "uid"
	// clusterKey has the UIDs of kube-system that were read while they could be, separated by commas.
	clusterKey = "kube-system"
)

// identity reads the identities once, before anything is asked of the infrastructure.
func (s *server) identity(ctx context.Context, process *run.Process) (identities, error) {
	c, err := client.New(process.Control, client.Options{Scheme: run.Scheme()})
	if err != nil {
		return identities{}, fmt.Errorf("connect to the control cluster: %w", err)
	}
	namespace := cmp.Or(s.flags.NamespaceOf(s.flags.APIs[0]), s.flags.Election.Namespace, os.Getenv("POD_NAMESPACE"))
	return identityOf(ctx, c, namespace, process.Log)
}

// identityOf prefers the UID of kube-system, and has both where both may be had. An API server that does not answer is an
// error: all that is made until the next start would carry no owner.
func identityOf(ctx context.Context, c client.Client, namespace string, log logr.Logger) (identities, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cluster, refused, err := clusterIdentity(ctx, c)
	if err != nil {
		return identities{}, err
	}
	own, record, refusedOwn, err := ownIdentity(ctx, c, namespace, cluster)
	if err != nil {
		return identities{}, err
	}
	out := identities{owner: cmp.Or(cluster, own)}
	for _, id := range append([]string{own}, record...) {
		if id != "" && id != out.owner && !slices.Contains(out.also, id) {
			out.also = append(out.also, id)
		}
	}
	if out.owner == "" {
		out.lacks = fmt.Sprintf("%v; %v", refused, refusedOwn)
		log.Info("the identity of this control plane is not known: instances are made without an owner, and orphans are only reported", "why", out.lacks)
		return out, nil
	}
	log.Info("instances are made for this control plane", "owner", out.owner, "also", out.also)
	return out, nil
}

// clusterIdentity is the UID of kube-system, or why it may not be read.
func clusterIdentity(ctx context.Context, c client.Reader) (uid string, refused, err error) {
	var ns corev1.Namespace
	err = c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &ns)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "", err, nil
	case err != nil:
		return "", nil, fmt.Errorf("read the identity of the control plane: %w", err)
	}
	return string(ns.UID), nil, nil
}

// ownIdentity is the UID of our ConfigMap, which is made where there is none, and the UIDs of kube-system on record there;
// or why there is none. A known UID of kube-system is recorded: the right to read it may be taken away.
func ownIdentity(ctx context.Context, c client.Client, namespace, cluster string) (uid string, record []string, refused, err error) {
	if namespace == "" {
		return "", nil, errors.New("no ConfigMap " + identityName + ": the process has no namespace of its own"), nil
	}
	var held corev1.ConfigMap
	key := client.ObjectKey{Namespace: namespace, Name: identityName}
	err = c.Get(ctx, key, &held)
	if apierrors.IsNotFound(err) {
		held = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: identityName, Labels: map[string]string{"app.kubernetes.io/part-of": "millwright"},
		}}
		if err = c.Create(ctx, &held); apierrors.IsAlreadyExists(err) {
			held = corev1.ConfigMap{}
			err = c.Get(ctx, key, &held) // another process was faster
		}
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "", nil, err, nil // also where there is no such namespace, or it is being deleted
	case err != nil:
		return "", nil, nil, fmt.Errorf("read or make the identity in ConfigMap %s: %w", key, err)
	}
	uid = string(held.UID)
	if held.Data[identityOfKey] == uid {
		record = strings.FieldsFunc(held.Data[clusterKey], func(r rune) bool { return r == ',' })
	}
	if cluster == "" || slices.Contains(record, cluster) {
		return uid, record, nil, nil
	}
	record = append(record, cluster)
	held.Data = map[string]string{identityOfKey: uid, clusterKey: strings.Join(record, ",")}
	if err := c.Update(ctx, &held); err != nil && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
		return "", nil, nil, fmt.Errorf("record the identity in ConfigMap %s: %w", key, err)
	}
	return uid, record, nil, nil
}
