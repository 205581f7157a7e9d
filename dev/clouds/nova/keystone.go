package nova

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// token is a token of Keystone.
type token struct {
	user    User
	project Project
	methods []string
	issued  time.Time
	// app is the application credential for which it was issued; nil: it was issued for a password.
	app *ApplicationCredential
	// stranger: it was issued to a user who is not in the inventory.
	stranger bool
}

// lifetime is the lifetime of tokens: Keystone's default.
const lifetime = time.Hour

func (k *call) authenticated() bool {
	t, ok := k.tokens[k.r.Header.Get("X-Auth-Token")]
	if !ok || k.now.Sub(t.issued) > lifetime {
		k.unauthorized()
		return false
	}
	k.token = t
	if t.app != nil && t.app.AccessRules != nil && !slices.ContainsFunc(t.app.AccessRules, k.ruledBy) {
		// The middleware reports an invalid token, without details.
		k.unauthorized()
		return false
	}
	if t.user.Reader && !k.method(http.MethodGet, http.MethodHead) {
		k.forbidden()
		return false
	}
	return true
}

// ruledBy reports whether an access rule allows the request, as keystonemiddleware matches them: * and {name}
// match one part of a path, ** matches any parts.
func (k *call) ruledBy(r AccessRule) bool {
	pattern := regexp.QuoteMeta(r.Path)
	pattern = strings.ReplaceAll(pattern, `\*\*`, `.*`)
	pattern = strings.ReplaceAll(pattern, `\*`, `[^/]+`)
	pattern = braces.ReplaceAllString(pattern, `[^/]+`)
	ok, err := regexp.MatchString("^"+pattern+"$", k.r.URL.EscapedPath())
	return err == nil && ok && r.Method == k.r.Method && r.Service == catalogTypes[k.service]
}

var braces = regexp.MustCompile(`\\\{[^}]*\\\}`)

// catalogTypes are the types of the services in the catalog.
var catalogTypes = map[string]string{"identity": "identity", "network": "network", "image": "image", "compute": "compute", "volume": "volumev3"}

// keystone serves tokens.
type keystone struct{ *call }

func serveIdentity(k *call) {
	if k.method(http.MethodPost) && strings.Join(k.parts, "/") == "auth/tokens" {
		keystone{k}.issue()
		return
	}
	k.fail(http.StatusNotFound, "", "Could not find the requested resource.")
}

// ask is the body of a request for a token, in Identity API v3.
type ask struct {
	Identity struct {
		Methods  []string `json:"methods"`
		Password struct {
			User named `json:"user"`
		} `json:"password"`
		ApplicationCredential struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Secret string `json:"secret"`
			User   named  `json:"user"`
		} `json:"application_credential"`
		Token struct {
			ID string `json:"id"`
		} `json:"token"`
	} `json:"identity"`
	Scope struct {
		Project *named `json:"project"`
	} `json:"scope"`
}

// named is an object of Keystone by ID, or by name in a domain.
type named struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Password string `json:"password"`
	Domain   struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"domain"`
}

// is reports whether it names the object. Here the ID of a domain is its name in lower case, as the ID of the domain "Default"
// is in every Keystone.
func (n named) is(id, name, domain string) bool {
	if domain == "" {
		domain = "Default"
	}
	if n.ID != "" {
		return n.ID == id
	}
	return n.Name == name && (n.Domain.Name == domain || n.Domain.ID == strings.ToLower(domain))
}

func (k keystone) issue() {
	var a ask
	if !k.read("auth", &a) {
		return
	}
	t, ok := k.login(a)
	if !ok && k.AcceptsUnknown() {
		t, ok = k.stranger(a), true
	}
	if !ok {
		k.fail(http.StatusUnauthorized, "", "The request you have made requires authentication.")
		return
	}
	t.issued = k.now
	secret := "gAAAAA" + strings.ReplaceAll(k.id("token")+k.id("token"), "-", "")
	k.tokens[secret] = t
	k.w.Header().Set("X-Subject-Token", secret)
	k.reply(http.StatusCreated, map[string]any{"token": k.tokenBody(t)})
}

func (k keystone) login(a ask) (token, bool) {
	for _, method := range a.Identity.Methods {
		for _, u := range k.Valid() {
			switch method {
			case "password":
				if p := a.Identity.Password.User; p.is(u.ID, u.Name, u.Domain) && p.Password == u.Password {
					return k.scoped(u, a.Scope.Project, method)
				}
			case "application_credential":
				for _, c := range u.ApplicationCredentials {
					given := a.Identity.ApplicationCredential
					known := given.ID == c.ID || given.ID == "" && given.Name == c.Name && given.User.is(u.ID, u.Name, u.Domain)
					if known && given.Secret == c.Secret {
						// Its project is fixed; a scope must not be given.
						t, ok := k.scoped(u, &named{ID: k.projectID(c.Project)}, method)
						t.app = &c
						return t, ok
					}
				}
			case "token":
				if t, ok := k.tokens[a.Identity.Token.ID]; ok && t.user.ID == u.ID {
					return t, true
				}
			}
		}
	}
	return token{}, false
}

// stranger issues a token to an unknown user in the requested project. If the request gives the project's ID or no project, as
// with an application credential, the project's name is generated.
func (k keystone) stranger(a ask) token {
	t := token{methods: a.Identity.Methods, stranger: true}
	who := a.Identity.Password.User
	if app := a.Identity.ApplicationCredential; app.ID+app.Name != "" {
		t.app = &ApplicationCredential{ID: cmp.Or(app.ID, uuid("application credential "+app.Name)), Name: cmp.Or(app.Name, app.ID), Secret: app.Secret}
		who = app.User
		who.ID = cmp.Or(who.ID, uuid("user of "+t.app.ID))
	}
	domain := cmp.Or(who.Domain.Name, who.Domain.ID)
	t.user = User{ID: cmp.Or(who.ID, uuid("user "+who.Name+" of "+domain)), Name: cmp.Or(who.Name, who.ID), Domain: domain}
	scope := a.Scope.Project
	if scope == nil {
		scope = &named{ID: uuid("project of " + t.user.ID)}
	}
	n := slices.IndexFunc(k.stock.Projects, func(p Project) bool { return scope.is(p.ID, p.Name, p.Domain) })
	if n < 0 {
		n = len(k.stock.Projects)
		domain := cmp.Or(scope.Domain.Name, scope.Domain.ID)
		k.stock.Projects = append(k.stock.Projects, Project{
			ID: cmp.Or(scope.ID, uuid("project "+scope.Name+" of "+domain)), Name: cmp.Or(scope.Name, scope.ID), Domain: domain,
		})
	}
	t.project = k.stock.Projects[n]
	t.user.Projects = []string{t.project.Name}
	return t
}

func (k *stock) projectID(name string) string {
	for _, p := range k.Projects {
		if p.Name == name {
			return p.ID
		}
	}
	return ""
}

func (k keystone) scoped(u User, scope *named, method string) (token, bool) {
	for _, name := range u.Projects {
		for _, p := range k.stock.Projects {
			if p.Name == name && (scope == nil || scope.is(p.ID, p.Name, p.Domain)) {
				return token{user: u, project: p, methods: []string{method}}, true
			}
		}
	}
	return token{}, false
}

// tokenBody has the form of testdata/keystone-token.json.
func (k keystone) tokenBody(t token) map[string]any {
	role := "member"
	if t.user.Reader {
		role = "reader"
	}
	body := map[string]any{
		"methods": t.methods, "is_domain": false, "audit_ids": []string{"iIWW3MDQSSuz2cf1rj6gvA"},
		"user":       map[string]any{"domain": domainOf(t.user.Domain), "id": t.user.ID, "name": t.user.Name, "password_expires_at": nil},
		"project":    map[string]any{"domain": domainOf(t.project.Domain), "id": t.project.ID, "name": t.project.Name},
		"roles":      []any{map[string]any{"id": uuid("role " + role), "name": role}},
		"expires_at": micro(t.issued.Add(lifetime)) + "Z", "issued_at": micro(t.issued) + "Z",
		"catalog": k.catalog(t),
	}
	if t.app != nil {
		body["application_credential"] = map[string]any{"id": t.app.ID, "name": t.app.Name, "restricted": true, "access_rules": t.app.AccessRules}
	}
	return body
}

func domainOf(name string) map[string]any {
	if name == "" {
		name = "Default"
	}
	return map[string]any{"id": strings.ToLower(name), "name": name}
}

// catalog has the regions of the inventory. If anything is accepted, it also has endpoints without a region, which Keystone
// allows, because the request does not name the caller's region.
func (k keystone) catalog(t token) (all []any) {
	regions := append([]string{k.stock.Region}, k.stock.Regions...)
	if k.stock.any {
		regions = append(regions, "")
	}
	for _, s := range []struct{ kind, name, path string }{
		{catalogTypes["identity"], "keystone", "/identity/v3/"},
		{catalogTypes["network"], "neutron", "/network"},
		{catalogTypes["image"], "glance", "/image"},
		{catalogTypes["compute"], "nova", "/compute/v2.1"},
		{catalogTypes["volume"], "cinderv3", "/volume/v3/" + t.project.ID},
	} {
		var endpoints []any
		for _, region := range regions {
			for _, i := range []string{"public", "internal"} {
				endpoints = append(endpoints, map[string]any{
					"id": uuid(s.kind + i + region), "interface": i, "region_id": region, "region": region, "url": k.base() + s.path,
				})
			}
		}
		all = append(all, map[string]any{"endpoints": endpoints, "id": uuid(s.kind), "type": s.kind, "name": s.name})
	}
	return all
}

// versions answers requests for the versions of a service.
func versions(k *call) bool {
	if !k.method(http.MethodGet) || len(k.parts) > 0 {
		return false
	}
	link := func(path string) []any {
		return []any{map[string]any{"rel": "self", "href": k.base() + path}}
	}
	switch k.service {
	case "network":
		k.reply(http.StatusOK, map[string]any{"versions": []any{map[string]any{"id": "v2.0", "status": "CURRENT", "links": link("/network/v2.0/")}}})
	case "image":
		k.reply(http.StatusMultipleChoices, map[string]any{"versions": []any{map[string]any{"id": "v2.16", "status": "CURRENT", "links": link("/image/v2/")}}})
	case "identity":
		k.reply(http.StatusMultipleChoices, map[string]any{"versions": map[string]any{"values": []any{map[string]any{
			"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "links": link("/identity/v3/"),
		}}}})
	case "compute":
		k.reply(http.StatusOK, map[string]any{"version": map[string]any{
			"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1", "updated": "2013-07-23T11:33:21Z",
			"links": append(link("/compute/v2.1/"), map[string]any{"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"}),
			"media-types": []any{map[string]any{
				"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1",
			}},
		}})
	default:
		return false
	}
	return true
}
