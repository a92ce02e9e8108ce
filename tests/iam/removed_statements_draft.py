import json,sys,collections,re,glob
from slipway_emulator.permissions.evaluation import *
res={}
for f in sorted(glob.glob('.rehearsal/*/emulator/permissions.jsonl')):
    env=f.split('/')[1]
    docs={};checks=[]
    for line in open(f):
        l=json.loads(line)
        if l['kind']=='document': docs[l['number']]=l['text']
        elif l['kind']=='check': checks.append(l)
    uniq=lambda c: json.dumps([c[k] for k in ('principal','action','resource','context','identity','boundary','resource_policy')],sort_keys=True)
    checks=list({uniq(c):c for c in checks}.values())
    by=collections.defaultdict(list); own={}
    for c in checks:
        for kind,ns in (('identity',c['identity']),('boundary',[c['boundary']]),('resource',[c['resource_policy']])):
            for n in ns:
                if n is not None: by[n].append(c); own.setdefault(n,(kind,c['principal'] if kind!='resource' else c['resource']))
    def run(c,over):
        t=lambda n: None if n is None else json.dumps(over.get(n,docs[n]))
        svc=not c['principal'].startswith('arn:')
        p=Principal(service=c['principal']) if svc else Principal(c['principal'])
        return decide(Request(p,c['action'],c['resource'],c['context']),Policies([t(n) for n in c['identity']],t(c['boundary']),t(c['resource_policy']))).allowed
    for n,d in docs.items():
        kind,who=own[n]
        who=re.sub(r'[0-9A-F]{8,12}(-[0-9A-Za-z]+)?$','',who.rpartition(':')[2]).replace(env,'ENV')
        who=re.sub(r'(arn:aws:)?.*role/(aws-|parallelcluster/)?','role ',who)
        st=d['Statement']; st=st if isinstance(st,list) else [st]
        for i,s in enumerate(st):
            if s.get('Effect')=='Deny': continue
            over={n:{**d,'Statement':st[:i]+st[i+1:]}}
            used=any(c['allowed'] and not run(c,over) for c in by[n])
            text=re.sub(r'-[0-9a-f]{12}\b|[0-9A-F]{8,12}','#',json.dumps(s,sort_keys=True)).replace(env,'ENV')
            key=(kind,who[:50],text)
            res[key]=res.get(key,False) or used
tot=collections.Counter(); used=collections.Counter()
for (kind,who,text),u in res.items():
    g='cdk bootstrap' if 'cdk-' in who and 'cfn-exec' not in who else 'execution' if 'cfn-exec' in who else 'deployer' if 'deployer' in who else 'cluster provider' if 'ClusterProvider' in who or 'ParallelCluster' in who or 'trainium-' in who else kind if kind!='identity' else 'own functions'
    tot[g]+=1; used[g]+=u
    if not u and g in('execution','deployer','own functions'): print(g,who,text[:260])
for g in tot: print(g,used[g],tot[g])
