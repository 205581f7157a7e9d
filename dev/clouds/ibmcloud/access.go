package ibmcloud

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// grant is an issued token.
type grant struct {
	key     string
	account string
	expires time.Time
}

// lifetime is the lifetime of a token.
const lifetime = time.Hour

// requestToken exchanges an API key for a token, as IAM does.
func (c *Cloud) requestToken(w http.ResponseWriter, in *call) {
	form, err := url.ParseQuery(string(in.body))
	key := form.Get("apikey")
	if err != nil || form.Get("grant_type") != "urn:ibm:params:oauth:grant-type:apikey" || key == "" {
		writeJSON(w, http.StatusBadRequest, object{"errorCode": "BXNIM0109E", "errorMessage": "Property missing or empty: apikey", "context": object{"requestId": double.Hex(32)}})
		return
	}
	known, ok := c.keyed(key)
	if !ok {
		writeJSON(w, http.StatusBadRequest, object{"errorCode": "BXNIM0415E", "errorMessage": "Provided API key could not be found.", "context": object{"requestId": double.Hex(32)}})
		return
	}
	g := grant{key: key, account: c.accountOf(known), expires: c.clock.Now().Add(lifetime)}
	claims, err := json.Marshal(object{"iam_id": "IBMid-270000000A", "account": object{"valid": true, "bss": g.account}, "exp": g.expires.Unix(), "jti": double.UUID()})
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, object{"errorCode": "BXNIM0103E", "errorMessage": "Internal Server Error"})
		return
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"kid":"20260101","alg":"RS256"}`)) + "." + encode(claims) + "." + encode([]byte("not signed"))
	c.mu.Lock()
	c.tokens[text] = g
	c.mu.Unlock()
	writeJSON(w, http.StatusOK, object{
		"access_token": text, "refresh_token": "not_supported", "token_type": "Bearer", "expires_in": int(lifetime.Seconds()), "expiration": g.expires.Unix(), "scope": "ibm openid",
	})
}

func (c *store) keyed(key string) (Credential, bool) {
	known, ok := c.Find(func(k Credential) bool { return k.APIKey == key })
	if !ok && c.AcceptsUnknown() {
		return Credential{APIKey: key}, true
	}
	return known, ok
}

func (c *store) accountOf(k Credential) string {
	if k.Account != "" {
		return k.Account
	}
	return c.options.Inventory.Account
}

// authorize identifies the caller by the token. The tokens of a revoked key are refused at once; IBM Cloud accepts them for
// some time.
func (c *store) authorize(in *call) *failure {
	c.mu.Lock()
	g, ok := c.tokens[strings.TrimPrefix(in.Header.Get("Authorization"), "Bearer ")]
	c.mu.Unlock()
	key, valid := c.keyed(g.key)
	if !ok || !valid || c.clock.Now().After(g.expires) {
		return refuse(http.StatusUnauthorized, "not_authorized", "The request is not authorized.")
	}
	in.account = g.account
	if !double.Permitted(in.operation, key.Allow, key.Deny) {
		return refuse(http.StatusForbidden, "not_authorized", "The request is not authorized.")
	}
	return nil
}

// ExpireTokens makes all tokens invalid.
func (c *Cloud) ExpireTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tokens)
}

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// otherAccount is the account for names that are not the sample's.
const otherAccount = "6a5b4c3d2e1f4a6b8c7d9e0f1a2b3c4e"

// Issue implements [double.Lender]. All other accounts are the same account: in this simulator accounts differ only by their
// instances.
func (c Administered) Issue(account string) (map[string]string, error) {
	if c.sample.APIKey == "" {
		return nil, errors.New("the inventory has no credentials that others could stand for")
	}
	k := Credential{APIKey: "Issued" + double.Hex(34)}
	if account != "" {
		k.Account = otherAccount
	}
	c.Credentials.Add(k)
	return map[string]string{c.sample.APIKey: k.APIKey}, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	i, ok := c.instances.Get(id)
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	p := i.Prototype
	p.Name, p.Primary.Name, p.Boot.Name, p.Boot.Volume.Name = rename(i.Name), rename(i.Interface), rename(i.Attachment), "" // volumes have different names
	for _, part := range []*string{&p.Primary.Name, &p.Boot.Name} {
		if !nameForm.MatchString(*part) {
			*part = ""
		}
	}
	_, err := c.Plant(p)
	return err
}
