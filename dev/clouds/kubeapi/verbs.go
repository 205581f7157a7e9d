package kubeapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (k *call) there(name string) (Object, bool) {
	if k.Name == namespaces.Name {
		uid, ok := k.namespaceUID(name)
		return Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "uid": uid}}, ok
	}
	return k.Objects.Get(Key(k.Name, k.namespace, name))
}

func (s *Server) namespaceUID(name string) (string, bool) {
	for _, n := range s.options.Namespaces {
		if n.Name == name {
			return n.UID, true
		}
	}
	return "", false
}

func get(k *call) {
	o, ok := k.there(k.object)
	if !ok {
		k.notFound(k.object)
		return
	}
	k.reply(http.StatusOK, o)
}

// list answers with a page. The continue token is the name of the page's last object.
func list(k *call) {
	selects, err := selector(k.r.URL.Query().Get("labelSelector"))
	if err != nil {
		k.fail(status{code: http.StatusBadRequest, reason: "BadRequest", message: err.Error()})
		return
	}
	size := k.options.PageSize
	if limit, _ := strconv.Atoi(k.r.URL.Query().Get("limit")); limit > 0 && (size == 0 || limit < size) {
		size = limit
	}
	after := k.r.URL.Query().Get("continue")
	items, metadata := []any{}, map[string]any{"resourceVersion": strconv.Itoa(k.seq)}
	for _, o := range k.Objects.AllBehind(k.Lag()) {
		in := k.namespace == "" || k.namespace == o.Namespace()
		if o.Kind() != k.Kind || !in || o.order() <= after || !selects(o.Texts("metadata", "labels")) {
			continue
		}
		if size > 0 && len(items) == size {
			metadata["continue"] = Object(items[size-1].(map[string]any)).order() //nolint:forcetypeassert // They are put there below.
			break
		}
		items = append(items, map[string]any(o))
	}
	k.reply(http.StatusOK, map[string]any{"apiVersion": k.apiVersion(), "kind": k.Kind + "List", "metadata": metadata, "items": items})
}

// order is the sort key of lists.
func (o Object) order() string { return o.Namespace() + "/" + o.Name() }

// selector parses a label selector: a=b, a!=b, a, !a, a in (b,c).
func selector(text string) (func(map[string]string) bool, error) {
	var all []func(map[string]string) bool
	for rest := text; rest != ""; {
		one := rest
		end := strings.IndexByte(rest, ',')
		if open := strings.IndexByte(rest, '('); open >= 0 && (end < 0 || open < end) {
			closed := strings.IndexByte(rest, ')')
			if closed < 0 {
				return nil, fmt.Errorf("unable to parse requirement: %q", text)
			}
			end = strings.IndexByte(rest[closed:], ',')
			if end >= 0 {
				end += closed
			}
		}
		rest = ""
		if end >= 0 {
			one, rest = one[:end], one[end+1:]
		}
		all = append(all, requirement(strings.TrimSpace(one)))
	}
	return func(labels map[string]string) bool {
		return !slices.ContainsFunc(all, func(one func(map[string]string) bool) bool { return !one(labels) })
	}, nil
}

func requirement(text string) func(map[string]string) bool {
	if name, values, ok := strings.Cut(text, " in ("); ok {
		in := strings.Split(strings.TrimSuffix(values, ")"), ",")
		return func(l map[string]string) bool { v, has := l[name]; return has && slices.Contains(in, v) }
	}
	if name, value, ok := strings.Cut(text, "!="); ok {
		return func(l map[string]string) bool { return l[name] != value }
	}
	if name, value, ok := strings.Cut(text, "="); ok {
		return func(l map[string]string) bool { v, has := l[name]; return has && v == value }
	}
	if name, ok := strings.CutPrefix(text, "!"); ok {
		return func(l map[string]string) bool { _, has := l[name]; return !has }
	}
	return func(l map[string]string) bool { _, has := l[text]; return has }
}

func create(k *call) {
	var o Object
	if !k.read(&o) {
		return
	}
	if _, ok := k.namespaceUID(k.namespace); !ok {
		k.fail(status{http.StatusNotFound, "NotFound", fmt.Sprintf("namespaces %q not found", k.namespace), target{Resource: namespaces}.about(k.namespace)})
		return
	}
	if _, ok := k.there(o.Name()); ok {
		k.fail(status{http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", k.full(), o.Name()), k.about(o.Name())})
		return
	}
	if causes := k.behind.Judge(k.Kind, o); len(causes) > 0 {
		k.invalid(o.Name(), causes)
		return
	}
	k.reply(http.StatusCreated, k.Put(k.Resource, k.namespace, o))
}

func patch(k *call) {
	o, ok := k.there(k.object)
	if !ok {
		k.notFound(k.object)
		return
	}
	if got := k.r.Header.Get("Content-Type"); got != "application/merge-patch+json" {
		k.fail(status{code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType", message: "the simulator does not support patches of type " + got})
		return
	}
	var changes map[string]any
	if !k.read(&changes) {
		return
	}
	if v := Object(changes).Text("metadata", "resourceVersion"); v != "" && v != o.Text("metadata", "resourceVersion") {
		k.conflict(k.object, "the object has been modified; please apply your changes to the latest version and try again")
		return
	}
	changed, _ := Merged(map[string]any(o.Clone()), changes).(map[string]any)
	if causes := k.behind.Judge(k.Kind, changed); len(causes) > 0 {
		k.invalid(k.object, causes)
		return
	}
	k.reply(http.StatusOK, k.Keep(k.Resource, changed))
}

func remove(k *call) {
	o, ok := k.there(k.object)
	if !ok {
		k.notFound(k.object)
		return
	}
	var options Object
	if len(k.body) > 0 && !k.read(&options) {
		return
	}
	if uid := options.Text("preconditions", "uid"); uid != "" && uid != o.UID() {
		k.conflict(k.object, fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, o.UID()))
		return
	}
	if left := k.behind.Delete(o, k.now); left != nil {
		k.reply(http.StatusOK, left)
		return
	}
	k.Bury(o)
	k.reply(http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success"})
}
