package dialect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// ClassKey tells apart the classes that have to be opened.
func ClassKey(c provider.Class) provider.ClientKey {
	return account(c) + provider.ClientKey("/"+c.API+"/"+digest(c.Spec))
}

// ScopeKey tells apart what has to be listed: classes that share one list the same
// instances.
func ScopeKey(c provider.Class, s provider.Session) string {
	scope := digest(c.Spec)
	if own, ok := provider.As[provider.Scoper](s); ok {
		scope = own.Scope()
	}
	return string(account(c)) + "/" + scope
}

// account is what a listing depends on whatever the spec says. The API group is
// no part of it: machines of both are looked at.
func account(c provider.Class) provider.ClientKey {
	return provider.KeyOf(c.Credentials, c.Cluster, c.Region)
}

func digest(spec []byte) string {
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:8])
}

// Once returns a reader that reads each object once: a thousand machines of one
// class read its secrets once. It is for one goroutine.
func Once(r client.Reader) client.Reader { return &once{Reader: r, known: map[string]read{}} }

type once struct {
	client.Reader
	known map[string]read
}

type read struct {
	object client.Object
	err    error
}

// Get implements [client.Reader].
func (r *once) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	id := fmt.Sprintf("%T %s", o, key)
	k, ok := r.known[id]
	if !ok {
		k.object = o.DeepCopyObject().(client.Object)
		k.err = r.Reader.Get(ctx, key, k.object, opts...)
		r.known[id] = k
	}
	if k.err != nil {
		return k.err
	}
	// What is read is not changed, so a shallow copy will do.
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(k.object).Elem())
	return nil
}
