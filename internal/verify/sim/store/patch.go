package store

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch applies a patch to the object with o's name; part is the subresource,
// empty for the object itself. As with a real API server, strategic merge patches
// work only for kinds of the core group, whose types name the merge keys of their
// lists.
func (s *Store) Patch(o client.Object, patch client.Patch, part string) (client.Object, error) {
	k := s.kinds.of(o)
	key := client.ObjectKeyFromObject(o)
	data, err := patch.Data(o)
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", k.Kind, err)
	}
	old := s.objects[k].get(key)
	if old == nil {
		return nil, apierrors.NewNotFound(k.resource(), key.Name)
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", k.Kind, err)
	}
	after, err := patched(k, before, patch.Type(), data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	edited, err := decoded(k, after)
	if err != nil {
		return nil, err
	}
	if v := edited.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.resource(), key.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if u := edited.GetUID(); u != old.GetUID() {
		return nil, apierrors.NewConflict(k.resource(), key.Name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", u, old.GetUID()))
	}
	return s.replace(k, old, edited, part)
}

func patched(k *Kind, doc []byte, t types.PatchType, data []byte) ([]byte, error) {
	switch {
	case t == types.MergePatchType:
		return jsonpatch.MergePatch(doc, data)
	case t == types.StrategicMergePatchType && k.Group == corev1.GroupName:
		return strategicpatch.StrategicMergePatch(doc, data, k.New())
	case t == types.JSONPatchType:
		p, err := jsonpatch.DecodePatch(data)
		if err != nil {
			return nil, err
		}
		return p.Apply(doc)
	}
	return nil, fmt.Errorf("unsupported patch type %q", t)
}
