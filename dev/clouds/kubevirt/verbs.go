package kubevirt

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// key is where the table has an object.
func key(resource, namespace, name string) string { return resource + "/" + namespace + "/" + name }

func (k *call) there(name string) (object, bool) {
	if k.name == "namespaces" {
		uid, ok := k.Inventory.namespaceUID(name)
		return object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "uid": uid}}, ok
	}
	return k.objects.Get(key(k.name, k.namespace, name))
}

func (i Inventory) namespaceUID(name string) (string, bool) {
	for _, n := range i.Namespaces {
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

// list answers with a page. What it goes on with is how far it came: the name of the last one.
func list(k *call) {
	selects, err := selector(k.r.URL.Query().Get("labelSelector"))
	if err != nil {
		k.fail(status{code: http.StatusBadRequest, reason: "BadRequest", message: err.Error()})
		return
	}
	size := k.PageSize
	if limit, _ := strconv.Atoi(k.r.URL.Query().Get("limit")); limit > 0 && (size == 0 || limit < size) {
		size = limit
	}
	after := k.r.URL.Query().Get("continue")
	items, metadata := []any{}, map[string]any{"resourceVersion": strconv.Itoa(k.seq)}
	for _, o := range k.objects.AllBehind(k.lag) {
		if o.text("kind") != k.kind || o.text("metadata", "namespace") != k.namespace || o.name() <= after || !selects(o.texts("metadata", "labels")) {
			continue
		}
		if size > 0 && len(items) == size {
			metadata["continue"] = object(items[size-1].(map[string]any)).name() //nolint:forcetypeassert // They are put there below.
			break
		}
		items = append(items, map[string]any(o))
	}
	k.reply(http.StatusOK, map[string]any{"apiVersion": k.apiVersion(), "kind": k.kind + "List", "metadata": metadata, "items": items})
}

// selector reads what is asked for of labels: a=b, a!=b, a, !a, a in (b,c).
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
	var o object
	if !k.read(&o) {
		return
	}
	if _, ok := k.Inventory.namespaceUID(k.namespace); !ok {
		namespaces := target{resource: named("namespaces")}
		k.fail(status{http.StatusNotFound, "NotFound", fmt.Sprintf("namespaces %q not found", k.namespace), namespaces.about(k.namespace)})
		return
	}
	if _, ok := k.there(o.name()); ok {
		k.fail(status{http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", k.full(), o.name()), k.about(o.name())})
		return
	}
	if causes := k.judge(o); len(causes) > 0 {
		k.invalid(o.name(), causes)
		return
	}
	k.reply(http.StatusCreated, k.put(k.resource, k.namespace, o))
}

// put makes an object.
func (m *memory) put(r resource, namespace string, o object) object {
	o = o.clone()
	o.set(r.apiVersion(), "apiVersion")
	o.set(r.kind, "kind")
	o.set(namespace, "metadata", "namespace")
	o.set(m.newUID(r.kind), "metadata", "uid")
	if o.text("metadata", "creationTimestamp") == "" {
		o.set(stamp(m.clock.Now()), "metadata", "creationTimestamp")
	}
	if r.kind == "VirtualMachine" {
		m.lives[o.uid()] = &life{since: m.clock.Now(), made: m.clock.Now()}
	}
	return m.keep(r, o)
}

// keep keeps another version of an object.
func (m *memory) keep(r resource, o object) object {
	o.set(m.next(), "metadata", "resourceVersion")
	m.objects.Put(key(r.name, o.text("metadata", "namespace"), o.name()), o)
	return o
}

func patch(k *call) {
	o, ok := k.there(k.object)
	if !ok {
		k.notFound(k.object)
		return
	}
	if got := k.r.Header.Get("Content-Type"); got != "application/merge-patch+json" {
		k.fail(status{code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType", message: "the double knows no patches of type " + got})
		return
	}
	var changes map[string]any
	if !k.read(&changes) {
		return
	}
	if v := object(changes).text("metadata", "resourceVersion"); v != "" && v != o.text("metadata", "resourceVersion") {
		k.conflict(k.object, "the object has been modified; please apply your changes to the latest version and try again")
		return
	}
	changed, _ := merged(map[string]any(o.clone()), changes).(map[string]any)
	if causes := k.judge(changed); len(causes) > 0 {
		k.invalid(k.object, causes)
		return
	}
	k.reply(http.StatusOK, k.keep(k.resource, changed))
}

func remove(k *call) {
	o, ok := k.there(k.object)
	if !ok {
		k.notFound(k.object)
		return
	}
	var options object
	if len(k.body) > 0 && !k.read(&options) {
		return
	}
	if uid := options.text("preconditions", "uid"); uid != "" && uid != o.uid() {
		k.conflict(k.object, fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, o.uid()))
		return
	}
	if k.kind == "VirtualMachine" {
		if !o.dying() {
			o = o.clone()
			o.set(stamp(k.now), "metadata", "deletionTimestamp")
			k.lives[o.uid()].deleted = k.now
			k.keep(k.resource, o)
		}
		k.reply(http.StatusOK, o)
		return
	}
	k.bury(o)
	k.reply(http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success"})
}

// bury takes an object away, and what goes with it.
func (m *memory) bury(o object) {
	for _, r := range resources {
		if r.kind == o.text("kind") {
			m.objects.Delete(key(r.name, o.text("metadata", "namespace"), o.name()))
		}
	}
	if o.text("kind") == "VirtualMachineInstance" {
		for _, uid := range o.owners() {
			if l := m.lives[uid]; l != nil {
				l.since = m.clock.Now()
			}
		}
	}
	for _, other := range m.objects.All() {
		if slices.Contains(other.owners(), o.uid()) {
			m.bury(other)
		}
	}
}
